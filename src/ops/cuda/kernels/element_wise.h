#pragma once

#include <cstddef>

#include "device/cuda/launch.h"
#include "ops/cuda/dnn.h"
#include "ops/cuda/kernels/column_sum.h"

/// Kernels that treat all elements alike. `packs`: elements / channel_unit. Addresses are of device memory;
/// results may stand in place of what is read.
namespace lockstep::cuda {

/// sum = a + b.
void add(StreamHandle stream, Type type, std::size_t packs, const void* a, const void* b, void* sum);
void copy(StreamHandle stream, Type type, std::size_t packs, const void* from, void* to);
/// min(max(x, 0), limit); NaN stays NaN.
void clamp(StreamHandle stream, Type type, std::size_t packs, float limit, const void* input, void* output);
/// The gradient before such a clamp by its output: zero where that is 0 or `limit`. Unless `chunks` is null,
/// also the sums of that gradient's chunks (column_sum.h); `tensor` is all three's.
void undo_clamp(StreamHandle stream, const ColumnSum& tensor, float limit, const void* output,
                const void* grad_output, void* grad_input, float* chunks);
void fill_zeros(StreamHandle stream, std::size_t count, float* values);

}  // namespace lockstep::cuda
