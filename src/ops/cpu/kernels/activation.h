#pragma once

#include <cstddef>

#include "ops/cpu/kernels/table.h"

namespace lockstep::cpu {

enum class ActivationKind { relu6, silu, gelu };

struct ActivationKernels {
  void (*forward)(ActivationKind, std::size_t pixels, const float* input, float* output);
  void (*backward)(ActivationKind, std::size_t pixels, const float* input, const float* grad_output,
                   float* grad_input);
};
LOCKSTEP_KERNEL_TABLE(ActivationKernels, activation_kernels)

}  // namespace lockstep::cpu
