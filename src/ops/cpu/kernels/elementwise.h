#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/cpu/kernels/table.h"

namespace lockstep::cpu {

/// Activation functions. `activate` supports relu6, silu and gelu, batch norm none, relu and relu6.
enum class ActivationKind { none, relu, relu6, silu, gelu };

struct ElementwiseKernels {
  /// max(input, 0) of `pixels` blocks of 16 images; NaN passes. `masks`: written, a bit per image that
  /// passed. Works in place.
  void (*relu)(std::size_t pixels, const float* input, float* output, std::uint16_t* masks);
  void (*add)(std::size_t pixels, const float* a, const float* b, float* output);
  /// input * scale for images whose bit is set, else 0.
  void (*select)(std::size_t pixels, float scale, const std::uint16_t* masks, const float* input,
                 float* output);
  void (*activate)(ActivationKind, std::size_t pixels, const float* input, float* output);
  void (*activate_backward)(ActivationKind, std::size_t pixels, const float* input, const float* grad_output,
                            float* grad_input);
};
LOCKSTEP_KERNEL_TABLE(ElementwiseKernels, elementwise_kernels)

}  // namespace lockstep::cpu
