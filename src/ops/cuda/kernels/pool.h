#pragma once

#include <cstddef>

#include "device/cuda/stream_handle.h"
#include "ops/cuda/dnn/dnn.h"
#include "ops/pool_windows.h"

namespace lockstep::cuda {

/// Pooling of [sample][row][column][channel]. Sums and comparisons visit rows, then columns, ascending;
/// gradients are added in the order of the outputs. In float, the bits are the same as on the CPU.
struct PoolTask {
  Type type;
  int samples;
  int channels;  ///< padded
  PoolWindows windows;
};

/// Size in bytes of `places`, which hold the index of the largest pixel in each window: the first of equal
/// pixels, or the last NaN.
std::size_t max_pool_places_bytes(const PoolTask& task);
/// Writes `places`, which may be null.
void max_pool_forward(StreamHandle stream, const PoolTask& task, const void* input, void* output,
                      void* places);
void max_pool_backward(StreamHandle stream, const PoolTask& task, const void* places, const void* grad_output,
                       void* grad_input);
void avg_pool_forward(StreamHandle stream, const PoolTask& task, const void* input, void* output);
void avg_pool_backward(StreamHandle stream, const PoolTask& task, const void* grad_output, void* grad_input);

}  // namespace lockstep::cuda
