#pragma once

#include <cstddef>

#include "core/bfloat16.h"
#include "graph/pool_range.h"
#include "ops/cpu/kernels/table.h"

namespace lockstep::cpu {

/// Pooling of all channels of all groups. Sums and comparisons visit rows, then columns, ascending; large
/// windows are added up in bands (pool_range.h). Gradients are added in the order of the outputs.
struct PoolTask {
  int channels;  ///< of all groups
  int in_height;
  int in_width;
  int out_height;
  int out_width;
  const PoolRange* rows;     ///< one per output row
  const PoolRange* columns;  ///< one per output column
};

/// Functions of activations that are stored as `Element`. `plane`: scratch of backward, input pixels of a
/// channel x 16 floats; unused for floats.
template <class Element>
struct PoolFunctions {
  void (*average_forward)(const PoolTask&, const Element* input, Element* output);
  void (*average_backward)(const PoolTask&, const Element* grad_output, Element* grad_input, float* plane);
  void (*max_forward)(const PoolTask&, const Element* input, Element* output);
  /// Adds each gradient to the first largest value of its window.
  void (*max_backward)(const PoolTask&, const Element* input, const Element* grad_output, Element* grad_input,
                       float* plane);
};
struct PoolKernels : PoolFunctions<float> {
  PoolFunctions<Bfloat16> bf16;
};
LOCKSTEP_KERNEL_TABLE(PoolKernels, pool_kernels)

}  // namespace lockstep::cpu
