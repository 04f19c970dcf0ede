#include "device/cuda/native/check.h"

#include <string>

#include "lockstep/error.h"

namespace lockstep::cuda {

void check_cuda(cudaError_t code, const char* call) {
  if (code == cudaSuccess) return;
  cudaGetLastError();  // a failed call leaves its error behind
  throw Error(Category::resource,
              std::string(call) + ": " + cudaGetErrorString(code) + " (" + cudaGetErrorName(code) + ")");
}

}  // namespace lockstep::cuda
