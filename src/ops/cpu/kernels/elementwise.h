#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/cpu/kernels/table.h"

namespace lockstep::cpu {

/// Activation in a kernel of its own (relu6, silu, gelu) or fused into another (none, relu, relu6).
enum class ActivationKind { none, relu, relu6, silu, gelu };

struct ElementwiseKernels {
  /// `pixels` blocks of 16 images; NaN passes. In place allowed.
  void (*relu)(std::size_t pixels, const float* input, float* output, std::uint16_t* masks);
  void (*add)(std::size_t pixels, const float* a, const float* b, float* output);
  /// input * scale where an image's bit is set, else 0.
  void (*select)(std::size_t pixels, float scale, const std::uint16_t* masks, const float* input,
                 float* output);
  /// Kinds relu6, silu and gelu.
  void (*activate)(ActivationKind, std::size_t pixels, const float* input, float* output);
  void (*activate_backward)(ActivationKind, std::size_t pixels, const float* input, const float* grad_output,
                            float* grad_input);
};
LOCKSTEP_KERNEL_TABLE(ElementwiseKernels, elementwise_kernels)

}  // namespace lockstep::cpu
