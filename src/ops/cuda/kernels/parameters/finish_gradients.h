#pragma once

#include <cstddef>
#include <vector>

#include "device/cuda/stream_handle.h"
#include "ops/cuda/kernels/parameters/column_sum.h"
#include "ops/cuda/kernels/parameters/conv_weights.h"

namespace lockstep::cuda {

/// Removal of padding from a weight gradient, the inverse of WeightPadding.
struct Unpadding {
  WeightForms forms;
  const void* padded;  ///< of the type
  float* weight;
};

/// Second step of a ColumnSum: sums[channel] = sum over the chunks, for the first `channels` channels. Zeros
/// if the problem has no pixels.
struct ChunkAddition {
  ColumnSum problem;
  int channels;
  const float* chunks;
  float* sums;
};

/// Finishes the parameter gradients of several operations with one kernel. The memory to be read must not
/// change before run().
class GradientFinish {
 public:
  /// Maximum number of each kind of work between two runs.
  static constexpr std::size_t capacity = 24;

  GradientFinish(StreamHandle stream, Type type) : stream_(stream), type_(type) {}

  void add(const Unpadding& unpadding) { unpaddings_.push_back(unpadding); }
  void add(const ChunkAddition& addition) { additions_.push_back(addition); }
  /// Enqueues the work added since the last run. Throws Error(internal) if it exceeds `capacity`.
  void run();

 private:
  StreamHandle stream_;
  Type type_;
  std::vector<Unpadding> unpaddings_;
  std::vector<ChunkAddition> additions_;
};

}  // namespace lockstep::cuda
