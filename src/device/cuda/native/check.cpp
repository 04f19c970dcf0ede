#include "device/cuda/native/check.h"

#include <string>

#include "lockstep/error.h"

namespace lockstep::cuda {
namespace {

thread_local int device_of_thread = -1;

}  // namespace

void select_device(int device) {
  check_cuda(cudaSetDevice(device), "cudaSetDevice");
  device_of_thread = device;
}

void check_cuda(cudaError_t code, const char* call) {
  if (code == cudaSuccess) return;
  cudaGetLastError();  // clears the error, which later calls would return
  int device = -1;
  if (cudaGetDevice(&device) != cudaSuccess) device = device_of_thread;
  throw Error(Category::resource, (device >= 0 ? "GPU " + std::to_string(device) + ": " : "") + call + ": " +
                                      cudaGetErrorString(code) + " (" + cudaGetErrorName(code) + ")");
}

}  // namespace lockstep::cuda
