#pragma once

#include <cuda_runtime_api.h>

namespace lockstep::cuda {

/// Throws Error(resource) naming `call` and CUDA's reason unless `code` is cudaSuccess.
void check_cuda(cudaError_t code, const char* call);

/// Makes GPU `device` that of this thread. Errors of its calls then name it, also those after which CUDA
/// answers no more.
void select_device(int device);

}  // namespace lockstep::cuda
