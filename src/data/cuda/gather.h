#pragma once

#include <cstddef>
#include <cstdint>

#include "core/random/hash_integer.h"
#include "core/step_state.h"
#include "data/feed/micro_batch_rule.h"
#include "device/cuda/bfloat16.h"
#include "device/cuda/launch.h"
#include "lockstep/dataset.h"
#include "lockstep/input.h"

/// Micro-batches on a GPU, with the bits of data/feed/micro_batch_reader.h. Addresses are the device's.
namespace lockstep::cuda {

/// A data set's samples, one after the other, and their labels.
struct SampleArray {
  const std::byte* samples = nullptr;
  std::size_t sample_bytes = 0;
  const std::int32_t* labels = nullptr;
};

/// Whether images of the data set may lie in the device's memory and be changed there: they are not files,
/// and nothing is asked for that computes new pixels (randaugment, random_resized_crop).
bool runs_on_device(const Dataset& dataset, const AugmentOptions& augment);

/// How micro-batch `leaf` of the step that `log` is at is drawn. Without a log it is one of a step that
/// begins at the first sample, in the rule's epoch.
struct MicroBatchDraw {
  MicroBatchRule rule;
  SampleArray array;
  StepLog log;
  std::uint32_t full_size = 0;  ///< samples of micro-batches that are full
  std::uint32_t leaf = 0;
  MicroBatch batch;                      ///< its arrays are written
  PixelPlacement* placements = nullptr;  ///< written; one entry per sample
  Wide* visits = nullptr;                ///< words of a VisitSum, to which the samples are added
};
void choose_samples(StreamHandle stream, const MicroBatchDraw& draw);

/// How images become what the network reads.
struct ImageGather {
  MicroBatch batch;
  SampleFormat format;
  const PixelPlacement* placements = nullptr;  ///< how pixels are moved and blackened; null: they stay
  int cutout = 0;                              ///< side of the squares
  Shape target;                                ///< leading rows and columns of the format's shape
  int stored_channels = 0;                     ///< a multiple of 8: those behind the target's are zeros
};

/// Writes output[sample][row][column][channel], aligned to 16 bytes.
void gather_images(StreamHandle stream, const ImageGather& gather, float* output);
void gather_images(StreamHandle stream, const ImageGather& gather, Bfloat16* output);

}  // namespace lockstep::cuda
