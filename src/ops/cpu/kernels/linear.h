#pragma once

#include <cstddef>

#include "core/bfloat16.h"
#include "ops/cpu/kernels/table.h"

namespace lockstep::cpu {

/// y = W x + b for all groups: [group][inputs][16] -> [group][outputs][16]. Activations are stored as
/// `Element`. Unused pointers may be null.
template <class Element>
struct LinearTask {
  int groups;
  int samples;
  int inputs;
  int outputs;
  const Element* input;
  const float* weight;  ///< [outputs][inputs]
  const float* bias;
  Element* output;
  const Element* grad_output;
  Element* grad_input;
  float* grad_weight;
  float* grad_bias;
  float* scratch;  ///< scratch() floats
};

template <class Element>
struct LinearFunctions {
  void (*forward)(const LinearTask<Element>&);
  void (*backward_data)(const LinearTask<Element>&);
  void (*backward_weights)(const LinearTask<Element>&);
};
struct LinearKernels : LinearFunctions<float> {
  LinearFunctions<Bfloat16> bf16;
  std::size_t (*scratch)(int inputs, int outputs, int samples);
};
LOCKSTEP_KERNEL_TABLE(LinearKernels, linear_kernels)

}  // namespace lockstep::cpu
