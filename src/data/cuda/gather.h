#pragma once

#include <cstddef>
#include <cstdint>

#include "core/bfloat16.h"
#include "core/random/hash_integer.h"
#include "core/step_state.h"
#include "data/feed/micro_batch_rule.h"
#include "device/cuda/stream_handle.h"
#include "lockstep/dataset.h"
#include "lockstep/input.h"

/// Gathers micro-batches on a GPU, with the same bits as data/feed/micro_batch_reader.h on a CPU. All
/// pointers are device addresses.
namespace lockstep::cuda {

/// A data set's samples, stored contiguously, and their labels or targets.
struct SampleArray {
  const std::byte* samples = nullptr;
  std::size_t sample_bytes = 0;
  const std::int32_t* labels = nullptr;
  const float* targets = nullptr;  ///< [sample][target]; null: labels are the targets
};

/// Whether samples can be held in the device's memory and augmented there: they must not be image files, and
/// no augmentation may compute new pixels (as randaugment and random_resized_crop do).
bool runs_on_device(const Dataset& dataset, const AugmentOptions& augment);

/// Arguments of choose_samples. The step's epoch and first sample are read from `log`; without a log, the
/// step begins at the first sample of the rule's epoch.
struct MicroBatchDraw {
  MicroBatchRule rule;
  SampleArray array;
  StepLog log;
  std::uint32_t full_size = 0;           ///< number of samples of a full micro-batch
  std::uint32_t leaf = 0;                ///< index of the micro-batch in the step
  MicroBatch batch;                      ///< arrays to write to
  PixelPlacement* placements = nullptr;  ///< [sample], written
  Wide* visits = nullptr;                ///< words of the VisitSum to which the samples are added
};
/// Chooses the samples of a micro-batch, and writes their entries and random parameters.
void choose_samples(StreamHandle stream, const MicroBatchDraw& draw);

/// Arguments of gather_images, which converts a micro-batch's images to the network's input.
struct ImageGather {
  MicroBatch batch;
  SampleFormat format;
  const PixelPlacement* placements = nullptr;  ///< [sample]; null: pixels stay in place
  int cutout = 0;                              ///< side of the black squares
  Shape target;                                ///< leading rows and columns of the format's shape to convert
  int stored_channels = 0;                     ///< a multiple of 8; channels after the target's are zeros
};

/// Writes output[sample][row][column][channel]; `output` is aligned to 16 bytes.
void gather_images(StreamHandle stream, const ImageGather& gather, float* output);
void gather_images(StreamHandle stream, const ImageGather& gather, Bfloat16* output);

}  // namespace lockstep::cuda
