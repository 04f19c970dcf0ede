#pragma once

#include <cstddef>
#include <vector>

#include "device/cuda/launch.h"
#include "ops/cuda/kernels/parameters/column_sum.h"
#include "ops/cuda/kernels/parameters/conv_weights.h"

namespace lockstep::cuda {

/// Removal of padding from a weight gradient, the inverse of WeightPadding.
struct Unpadding {
  WeightForms forms;
  const void* padded;  ///< of the type
  float* weight;
};

/// Second step of a ColumnSum: sums[channel] = sum over the chunks, for the first `channels`.
struct ChunkAddition {
  ColumnSum problem;
  int channels;
  const float* chunks;
  float* sums;
};

/// Contribution of a micro-batch to running statistics: samples * mean and samples * unbiased variance, which
/// has the factor n / (n - 1) for n values of a channel (1 for n = 1).
struct NormObservation {
  int channels = 0;
  int samples = 0;
  std::size_t values = 0;  ///< of a channel
  double eps = 0.0;
  const float* mean = nullptr;
  const float* inverse_deviation = nullptr;
  float* grad_mean = nullptr;
  float* grad_variance = nullptr;
};

/// Finishes the parameter gradients of several operations by one kernel. Memory that it reads must not change
/// before run().
class GradientFinish {
 public:
  /// Maximum number of each kind of work between two runs.
  static constexpr std::size_t capacity = 24;

  GradientFinish(StreamHandle stream, Type type) : stream_(stream), type_(type) {}

  void add(const Unpadding& unpadding) { unpaddings_.push_back(unpadding); }
  void add(const ChunkAddition& addition) { additions_.push_back(addition); }
  void add(const NormObservation& observation) { observations_.push_back(observation); }
  /// Enqueues the work added since the last run. Throws Error(internal) if it exceeds `capacity`.
  void run();

 private:
  StreamHandle stream_;
  Type type_;
  std::vector<Unpadding> unpaddings_;
  std::vector<ChunkAddition> additions_;
  std::vector<NormObservation> observations_;
};

}  // namespace lockstep::cuda
