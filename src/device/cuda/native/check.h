#pragma once

#include <cuda_runtime_api.h>

namespace lockstep::cuda {

/// Throws Error(resource) naming `call` and CUDA's reason unless `code` is cudaSuccess.
void check_cuda(cudaError_t code, const char* call);

/// Selects GPU `device` for this thread. Errors of the thread's later CUDA calls name this GPU, even if CUDA
/// no longer responds.
void select_device(int device);

}  // namespace lockstep::cuda
