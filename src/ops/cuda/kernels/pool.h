#pragma once

#include <cstddef>

#include "device/cuda/stream_handle.h"
#include "ops/cuda/dnn/dnn.h"
#include "ops/pool_windows.h"

namespace lockstep::cuda {

/// Pooling of [sample][row][column][channel]. Sums and comparisons visit rows, then columns, ascending;
/// gradients are added in the order of the outputs. In float, the bits are those of the CPU.
struct PoolTask {
  Type type;
  int samples;
  int channels;  ///< padded
  PoolWindows windows;
};

/// Size of `places`, the numbers of the largest pixel of each window: of equal pixels the first, of NaNs the
/// last.
std::size_t max_pool_places_bytes(const PoolTask& task);
/// Writes `places`, which may be null.
void max_pool_forward(StreamHandle stream, const PoolTask& task, const void* input, void* output,
                      void* places);
void max_pool_backward(StreamHandle stream, const PoolTask& task, const void* places, const void* grad_output,
                       void* grad_input);
void avg_pool_forward(StreamHandle stream, const PoolTask& task, const void* input, void* output);
void avg_pool_backward(StreamHandle stream, const PoolTask& task, const void* grad_output, void* grad_input);

}  // namespace lockstep::cuda
