#pragma once

#include <cstddef>

#include "ops/cpu/kernels/table.h"

namespace lockstep::cpu {

/// y = W x + b for all groups: [group][inputs][16] -> [group][outputs][16]. Unused pointers may be null.
struct LinearTask {
  int groups;
  int samples;
  int inputs;
  int outputs;
  const float* input;
  const float* weight;  ///< [outputs][inputs]
  const float* bias;
  float* output;
  const float* grad_output;
  float* grad_input;
  float* grad_weight;
  float* grad_bias;
  float* scratch;  ///< linear_scratch() floats
};

struct LinearKernels {
  void (*forward)(const LinearTask&);
  void (*backward_data)(const LinearTask&);
  void (*backward_weights)(const LinearTask&);
  std::size_t (*scratch)(int inputs, int samples);
};
LOCKSTEP_KERNEL_TABLE(LinearKernels, linear_kernels)

}  // namespace lockstep::cpu
