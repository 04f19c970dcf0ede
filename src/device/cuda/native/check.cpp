#include "device/cuda/native/check.h"

#include <string>

#include "lockstep/error.h"

namespace lockstep::cuda {

void check_cuda(cudaError_t code, const char* call) {
  if (code == cudaSuccess) return;
  cudaGetLastError();  // clears the error, which later calls would return
  int device = -1;
  const bool known = cudaGetDevice(&device) == cudaSuccess;
  throw Error(Category::resource, (known ? "GPU " + std::to_string(device) + ": " : std::string()) + call +
                                      ": " + cudaGetErrorString(code) + " (" + cudaGetErrorName(code) + ")");
}

}  // namespace lockstep::cuda
