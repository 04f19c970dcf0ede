#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/hash_integer.h"
#include "core/step_state.h"
#include "data/batch.h"
#include "device/cuda/bfloat16.h"
#include "device/cuda/launch.h"
#include "lockstep/dataset.h"
#include "lockstep/input.h"

/// Micro-batches on a GPU, with the bits of data/batch_reader.h. Addresses are the device's.
namespace lockstep::cuda {

/// Samples, one after the other, [channel][row][column] of `shape`: pixels or floats, the other is null.
struct SampleArray {
  const std::uint8_t* pixels = nullptr;
  const float* floats = nullptr;
  Shape shape;
};

/// Where a sample of a micro-batch lies in the array, and how its pixels are moved and blackened.
struct PlacedSample {
  std::uint64_t place = 0;
  std::int32_t down = 0, right = 0;          ///< Shift
  std::int32_t cut_row = 0, cut_column = 0;  ///< Corner
  std::int32_t flipped = 0;
};

/// Which samples a micro-batch consists of and what is drawn for them: the same for all of a run.
struct SampleChoice {
  std::uint64_t size = 0;         ///< of the data set
  std::uint32_t micro_batch = 0;  ///< samples of a full one
  std::uint64_t seed = 0;
  bool shuffled = false;  ///< positions follow the epoch's permutation; else the data set's own order
  const std::int32_t* labels = nullptr;  ///< of the data set
  Shape shape;
  // Of AugmentOptions, 0 where not asked for.
  int crop_padding = 0;
  double flip = 0.0;
  int cutout = 0;
  double mixup = 0.0;
};

/// What is known of a micro-batch beside its images; [sample]. Null: not wanted, but for `placed`.
struct ChosenSamples {
  PlacedSample* placed = nullptr;
  std::uint64_t* ids = nullptr;
  std::int32_t* labels = nullptr;
  std::int32_t* other_labels = nullptr;
  float* shares = nullptr;
  RandomKey* random = nullptr;  ///< one
  Wide* visits = nullptr;       ///< one: VisitSum's words, to which these samples are added
};

/// Whether images of the data set may lie in the device's memory and be changed there: they are not files,
/// and nothing is asked for that computes new pixels (randaugment, random_resized_crop).
bool runs_on_device(const Dataset& dataset, const AugmentOptions& augment);

/// Micro-batch `leaf` of the step that `log` is at, of `samples` samples.
void choose_samples(StreamHandle stream, const SampleChoice& choice, const StepLog& log, std::uint32_t leaf,
                    std::uint32_t samples, const ChosenSamples& chosen);

/// How images become what the network reads.
struct ImageGather {
  SampleArray array;
  std::uint32_t samples = 0;             ///< of the micro-batch
  const PlacedSample* placed = nullptr;  ///< null: sample i is the array's i-th, as it is there
  int cutout = 0;                        ///< side of the squares
  const float* shares = nullptr;         ///< null: not mixed
  const float* mean = nullptr;           ///< [channel]; null: 0, and deviation 1
  const float* deviation = nullptr;
  Shape target;             ///< leading rows and columns of the array's shape
  int stored_channels = 0;  ///< a multiple of 8: those behind the target's are zeros
};

/// Writes output[sample][row][column][channel], aligned to 16 bytes.
void gather_images(StreamHandle stream, const ImageGather& gather, float* output);
void gather_images(StreamHandle stream, const ImageGather& gather, Bfloat16* output);

}  // namespace lockstep::cuda
