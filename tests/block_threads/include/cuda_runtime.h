#pragma once

// In place of CUDA's header, for src/device/cuda/native/launch.h: what kernels there use, on threads of the
// host.

#include <cuda_runtime_api.h>

#include "block_threads/block_threads.h"

#define __global__
#define __device__
/// Blocks run one after another, so that they can share it.
#define __shared__ static
#define threadIdx lockstep::block_threads::thread_index
#define blockIdx lockstep::block_threads::block_index
#define blockDim lockstep::block_threads::block_size

inline void __syncthreads() { lockstep::block_threads::wait_for_block(); }
inline std::uint32_t __shfl_down_sync(std::uint32_t /*threads*/, std::uint32_t word, unsigned apart) {
  return lockstep::block_threads::word_from_above(word, apart);
}

#define LOCKSTEP_LAUNCH(kernel, blocks, threads, stream, ...) \
  static_cast<void>(stream),                                  \
      lockstep::block_threads::run_blocks(blocks, threads, [&] { kernel(__VA_ARGS__); })
