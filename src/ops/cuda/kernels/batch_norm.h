#pragma once

#include <limits>

#include "core/host_device.h"
#include "device/cuda/stream_handle.h"
#include "ops/cuda/dnn/dnn.h"

/// Kernels of batch norm in evaluation. All addresses are device addresses.
namespace lockstep::cuda {

/// Activation after a batch norm: min(max(x, low), limit). NaN stays NaN.
struct NormClamp {
  float low = -std::numeric_limits<float>::infinity();
  float limit = std::numeric_limits<float>::infinity();

  LOCKSTEP_HD float operator()(float x) const { return x <= low ? low : x > limit ? limit : x; }
  /// Whether the gradient passes at `x`, a value before or after the activation.
  LOCKSTEP_HD bool passes(float x) const { return !(x <= low || x >= limit); }
  bool clamps() const { return low == 0.0F; }
};

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

/// output = clamp(input * scale + shift + residual).
struct NormTask {
  std::size_t pixels = 0;  ///< of all samples
  int channels = 0;        ///< padded
  NormClamp clamp;
  const float* scale = nullptr;
  const float* shift = nullptr;
  const void* input = nullptr;
  const void* residual = nullptr;  ///< may be null
  void* output = nullptr;
};
void normalize(StreamHandle stream, Type type, const NormTask& task);

}  // namespace lockstep::cuda
