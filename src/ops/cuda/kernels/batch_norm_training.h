#pragma once

#include <cstddef>

#include "device/cuda/stream_handle.h"
#include "ops/cuda/dnn/dnn.h"
#include "ops/cuda/kernels/batch_norm.h"

/// Batch norm in training: two kernels forward and two backward. All addresses are device addresses.
/// Activations are [pixel][padded channel] of the type. The order of all sums depends on the sizes only.
namespace lockstep::cuda {

/// A batch norm of one micro-batch.
struct NormTraining {
  std::size_t pixels = 0;  ///< of all samples
  int samples = 0;
  int channels = 0;  ///< of the network, without padding
  Type type = Type::fp32;
  float eps = 0.0F;
  NormClamp clamp;
  const void* input = nullptr;
  const float* weight = nullptr;  ///< [channel], then zeros for padding channels
  const float* bias = nullptr;    ///< same form as weight
  float* statistics = nullptr;    ///< statistics_bytes(); written forward, read backward
  std::byte* scratch = nullptr;   ///< scratch_bytes()

  std::size_t statistics_bytes() const;
  std::size_t scratch_bytes() const;
};

/// output = clamp((input - mean) / sqrt(variance + eps) * weight + bias + residual).
struct NormForward : NormTraining {
  const void* residual = nullptr;  ///< may be null
  void* output = nullptr;
};
void batch_norm_forward(StreamHandle stream, const NormForward& norm);

struct NormBackward : NormTraining {
  /// The output if there are a residual and an activation; else null: values before the activation are
  /// recomputed from the input.
  const void* output = nullptr;
  const void* grad_output = nullptr;
  const void* more_grad_output = nullptr;  ///< added to grad_output; may be null
  void* grad_input = nullptr;              ///< may be null
  void* grad_residual = nullptr;           ///< may be null
  float* grad_weight = nullptr;            ///< [channel], like the gradients below
  float* grad_bias = nullptr;
  // Contributions to running statistics: samples * mean, and samples * unbiased variance, which has the
  // factor n / (n - 1) for n values of a channel (1 for n = 1).
  float* grad_mean = nullptr;
  float* grad_variance = nullptr;
};
void batch_norm_backward(StreamHandle stream, const NormBackward& norm);

}  // namespace lockstep::cuda
