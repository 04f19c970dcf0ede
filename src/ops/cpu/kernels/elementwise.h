#pragma once

#include <cstddef>
#include <cstdint>

#include "core/bfloat16.h"
#include "ops/cpu/kernels/table.h"

namespace lockstep::cpu {

/// Activation functions. `activate` supports relu6, silu and gelu; batch norm supports none, relu and relu6.
enum class ActivationKind { none, relu, relu6, silu, gelu };

/// Functions for activations that are stored as `Element`.
template <class Element>
struct ElementwiseFunctions {
  /// max(input, 0) of `pixels` blocks of 16 images; NaN passes. Writes to `masks` a bit per image, set if the
  /// image's value passed. Works in place.
  void (*relu)(std::size_t pixels, const Element* input, Element* output, std::uint16_t* masks);
  void (*add)(std::size_t pixels, const Element* a, const Element* b, Element* output);
  /// input * scale for images whose bit is set, else 0.
  void (*select)(std::size_t pixels, float scale, const std::uint16_t* masks, const Element* input,
                 Element* output);
  void (*activate)(ActivationKind, std::size_t pixels, const Element* input, Element* output);
  void (*activate_backward)(ActivationKind, std::size_t pixels, const Element* input,
                            const Element* grad_output, Element* grad_input);
};
struct ElementwiseKernels : ElementwiseFunctions<float> {
  ElementwiseFunctions<Bfloat16> bf16;
};
LOCKSTEP_KERNEL_TABLE(ElementwiseKernels, elementwise_kernels)

}  // namespace lockstep::cpu
