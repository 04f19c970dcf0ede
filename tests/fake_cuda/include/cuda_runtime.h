#pragma once

// Replaces CUDA's header for the host compiler: the part that kernel sources use.

#include <cuda_runtime_api.h>

#include <utility>

#include "fake_cuda/grid.h"

#define __global__
#define __launch_bounds__(...)
#define __device__
/// Static memory suffices, because one grid runs at a time and its blocks run one after another.
#define __shared__ static
#define blockIdx lockstep::fake_cuda::block_index

inline void __syncthreads() { lockstep::fake_cuda::wait_for_block(); }

struct cudaLaunchConfig_t {
  unsigned gridDim, blockDim;
  cudaStream_t stream;
};

template <class... Arguments, class... Given>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Arguments...),
                               Given&&... given) {
  return lockstep::fake_cuda::launch_kernel<Arguments...>(config->stream, config->gridDim, config->blockDim,
                                                          kernel, std::forward<Given>(given)...);
}
