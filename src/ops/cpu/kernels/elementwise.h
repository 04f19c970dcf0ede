#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/cpu/kernels/table.h"

namespace lockstep::cpu {

struct ElementwiseKernels {
  /// `pixels` blocks of 16 images; NaN passes. In place allowed.
  void (*relu)(std::size_t pixels, const float* input, float* output, std::uint16_t* masks);
  void (*add)(std::size_t pixels, const float* a, const float* b, float* output);
  /// input * scale where an image's bit is set, else 0.
  void (*select)(std::size_t pixels, float scale, const std::uint16_t* masks, const float* input,
                 float* output);
};
LOCKSTEP_KERNEL_TABLE(ElementwiseKernels, elementwise_kernels)

}  // namespace lockstep::cpu
