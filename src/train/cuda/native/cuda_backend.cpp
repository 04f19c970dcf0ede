#include <cuda_runtime_api.h>

#include <string>

#include "train/backend.h"

namespace lockstep {

std::string why_no_cuda() {
  int devices = 0;
  const cudaError_t code = cudaGetDeviceCount(&devices);
  if (code == cudaErrorInsufficientDriver) return "no NVIDIA driver, or one too old for CUDA";
  if (code != cudaSuccess) return std::string("CUDA says: ") + cudaGetErrorString(code);
  return devices == 0 ? "no GPU is visible" : "";
}

}  // namespace lockstep
