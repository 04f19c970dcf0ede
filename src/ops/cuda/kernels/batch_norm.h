#pragma once

#include "device/cuda/launch.h"
#include "ops/cuda/dnn.h"

/// What batch norm does outside of the library. Addresses are of device memory.
namespace lockstep::cuda {

/// The running statistics and what is learned as output = input * scale + shift; scale and shift: [padded
/// channel], zeros beyond `channels`.
struct NormParameters {
  const float* weight;
  const float* bias;
  const float* running_mean;
  const float* running_variance;
};
void fold_norm(StreamHandle stream, int channels, float eps, const NormParameters& parameters, float* scale,
               float* shift);

/// Evaluation: min(max(input * scale + shift + residual, low), limit).
struct NormTask {
  std::size_t pixels = 0;  ///< of all samples
  int channels = 0;        ///< padded
  float low = 0.0F;        ///< minus infinity without an activation
  float limit = 0.0F;      ///< infinity without a limit
  const float* scale = nullptr;
  const float* shift = nullptr;
  const void* input = nullptr;
  const void* residual = nullptr;  ///< or null
  void* output = nullptr;
};
void normalize(StreamHandle stream, Type type, const NormTask& task);

/// What running statistics take from a micro-batch: samples * mean and samples * variance, this with
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
void observe(StreamHandle stream, const NormObservation& observation);

}  // namespace lockstep::cuda
