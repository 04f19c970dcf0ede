#pragma once

#include "device/cuda/launch.h"
#include "ops/cuda/dnn/dnn.h"

/// Kernels of batch norm in evaluation. All addresses are device addresses.
namespace lockstep::cuda {

/// Learned parameters and running statistics of a batch norm.
struct NormParameters {
  const float* weight;
  const float* bias;
  const float* running_mean;
  const float* running_variance;
};
/// Converts parameters to scale and shift: output = input * scale + shift. Both are [padded channel], with
/// zeros beyond `channels`.
void fold_norm(StreamHandle stream, int channels, float eps, const NormParameters& parameters, float* scale,
               float* shift);

/// output = min(max(input * scale + shift + residual, low), limit).
struct NormTask {
  std::size_t pixels = 0;  ///< of all samples
  int channels = 0;        ///< padded
  float low = 0.0F;        ///< -infinity: no activation
  float limit = 0.0F;      ///< infinity: no limit
  const float* scale = nullptr;
  const float* shift = nullptr;
  const void* input = nullptr;
  const void* residual = nullptr;  ///< may be null
  void* output = nullptr;
};
void normalize(StreamHandle stream, Type type, const NormTask& task);

}  // namespace lockstep::cuda
