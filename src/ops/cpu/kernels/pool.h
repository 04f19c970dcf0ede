#pragma once

#include <cstddef>

#include "ops/cpu/kernels/table.h"
#include "ops/pool_range.h"

namespace lockstep::cpu {

/// Pooling of all channels of all groups. Sums and comparisons visit rows, then columns, ascending; gradients
/// are added in the order of the outputs.
struct PoolTask {
  int channels;  ///< of all groups
  int in_height;
  int in_width;
  int out_height;
  int out_width;
  const PoolRange* rows;     ///< one per output row
  const PoolRange* columns;  ///< one per output column
};

struct PoolKernels {
  void (*average_forward)(const PoolTask&, const float* input, float* output);
  void (*average_backward)(const PoolTask&, const float* grad_output, float* grad_input);
  void (*max_forward)(const PoolTask&, const float* input, float* output);
  /// Adds each gradient to the first largest value of its window.
  void (*max_backward)(const PoolTask&, const float* input, const float* grad_output, float* grad_input);
};
LOCKSTEP_KERNEL_TABLE(PoolKernels, pool_kernels)

}  // namespace lockstep::cpu
