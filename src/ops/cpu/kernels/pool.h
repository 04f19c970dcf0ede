#pragma once

#include <cstddef>

#include "core/bfloat16.h"
#include "graph/pool_range.h"
#include "ops/cpu/kernels/table.h"

namespace lockstep::cpu {

/// Pooling of all channels of all groups. Sums and comparisons visit rows, then columns, ascending. Large
/// windows are summed in bands (pool_range.h). Gradients are added in the order of the outputs.
struct PoolTask {
  int channels;  ///< total over all groups
  int in_height;
  int in_width;
  int out_height;
  int out_width;
  const PoolRange* rows;     ///< one per output row
  const PoolRange* columns;  ///< one per output column
};

/// Functions for activations that are stored as `Element`. `plane`: scratch memory for backward, 16 floats
/// per input pixel of a channel; unused if `Element` is float.
template <class Element>
struct PoolFunctions {
  void (*average_forward)(const PoolTask&, const Element* input, Element* output);
  void (*average_backward)(const PoolTask&, const Element* grad_output, Element* grad_input, float* plane);
  void (*max_forward)(const PoolTask&, const Element* input, Element* output);
  /// Adds each gradient to the position of the window's largest value, the first one of equal values.
  void (*max_backward)(const PoolTask&, const Element* input, const Element* grad_output, Element* grad_input,
                       float* plane);
};
struct PoolKernels : PoolFunctions<float> {
  PoolFunctions<Bfloat16> bf16;
};
LOCKSTEP_KERNEL_TABLE(PoolKernels, pool_kernels)

}  // namespace lockstep::cpu
