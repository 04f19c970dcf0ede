#pragma once

#include "device/cuda/launch.h"
#include "ops/cuda/dnn/dnn.h"

/// Parts of batch norm outside of the library. Addresses are of device memory.
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

}  // namespace lockstep::cuda
