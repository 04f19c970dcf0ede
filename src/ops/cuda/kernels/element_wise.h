#pragma once

#include <cstddef>

#include "device/cuda/launch.h"
#include "ops/cuda/dnn/dnn.h"
#include "ops/cuda/kernels/parameters/column_sum.h"

/// Kernels that treat all elements alike. `packs`: elements / channel_unit. Addresses are in device memory;
/// results may overwrite inputs.
namespace lockstep::cuda {

/// sum = a + b.
void add(StreamHandle stream, Type type, std::size_t packs, const void* a, const void* b, void* sum);
void copy(StreamHandle stream, Type type, std::size_t packs, const void* from, void* to);
/// min(max(x, 0), limit); NaN stays NaN.
void clamp(StreamHandle stream, Type type, std::size_t packs, float limit, const void* input, void* output);
/// Gradient before a clamp, from the output of the clamp: the gradient after it, or zero where the output is
/// 0 or `limit`.
struct ClampGradient {
  ColumnSum tensor;  ///< shape of all tensors but the chunks
  float limit = 0.0F;
  const void* output = nullptr;
  const void* grad_output = nullptr;
  const void* more_grad_output = nullptr;  ///< added to grad_output; null: nothing
  void* grad_input = nullptr;
  float* chunks = nullptr;  ///< sums of the chunks of grad_input (column_sum.h); null: not computed
};
void undo_clamp(StreamHandle stream, const ClampGradient& task);
void fill_zeros(StreamHandle stream, std::size_t count, float* values);

}  // namespace lockstep::cuda
