#pragma once

#include <cstddef>

#include "device/cuda/stream_handle.h"
#include "ops/cuda/dnn/dnn.h"

namespace lockstep::cuda {

/// Sums of a tensor over the pixels of all samples, per channel. Computed in two steps, each in an order that
/// depends on these sizes only: kernels that read the tensor sum chunks of pixels, and GradientFinish
/// (finish_gradients.h) adds the chunks.
struct ColumnSum {
  std::size_t pixels = 0;
  int channels = 0;
  Type type = Type::fp32;
};

std::size_t pixels_of_chunk(const ColumnSum& problem);
std::size_t chunks_of(const ColumnSum& problem);
/// Size of the chunk sums: float [chunk][channel].
std::size_t chunk_bytes(const ColumnSum& problem);

/// Computes the chunk sums of a tensor by a separate kernel, if no other kernel computes them while reading
/// the tensor.
void sum_chunks(StreamHandle stream, const ColumnSum& problem, const void* values, float* chunks);

}  // namespace lockstep::cuda
