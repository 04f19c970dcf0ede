#pragma once

#include <cstddef>
#include <vector>

#include "device/cuda/launch.h"
#include "ops/cuda/kernels/parameters/column_sum.h"
#include "ops/cuda/kernels/parameters/conv_weights.h"

namespace lockstep::cuda {

/// The reverse of WeightPadding, of a gradient.
struct Unpadding {
  WeightForms forms;
  const void* padded;  ///< of the type
  float* weight;
};

/// The second half of a ColumnSum: sums[channel] = sum over the chunks, of the first `channels`.
struct ChunkAddition {
  ColumnSum problem;
  int channels;
  const float* chunks;
  float* sums;
};

/// A micro-batch's contribution to running statistics: samples * mean and samples * variance, this with
/// n / (n - 1) of the n values of a channel (1 for n = 1).
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

/// The last of what makes gradients of parameters, small work of several operations, in one kernel. What is
/// read must stay as it is until run().
class GradientFinish {
 public:
  /// Maximum of each kind of work between two runs.
  static constexpr std::size_t capacity = 24;

  GradientFinish(StreamHandle stream, Type type) : stream_(stream), type_(type) {}

  void add(const Unpadding& unpadding) { unpaddings_.push_back(unpadding); }
  void add(const ChunkAddition& addition) { additions_.push_back(addition); }
  void add(const NormObservation& observation) { observations_.push_back(observation); }
  /// Gives the stream what was added since the last time. Throws Error(internal) when it is too much.
  void run();

 private:
  StreamHandle stream_;
  Type type_;
  std::vector<Unpadding> unpaddings_;
  std::vector<ChunkAddition> additions_;
  std::vector<NormObservation> observations_;
};

}  // namespace lockstep::cuda
