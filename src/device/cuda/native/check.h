#pragma once

#include <cuda_runtime_api.h>

namespace lockstep::cuda {

/// Throws Error(resource) naming `call` and CUDA's reason unless `code` is cudaSuccess.
void check_cuda(cudaError_t code, const char* call);

}  // namespace lockstep::cuda
