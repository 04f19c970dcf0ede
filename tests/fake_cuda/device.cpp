// Facts of the only GPU, and errors.
#include <utility>

#include "fake_cuda/machine.h"

namespace fake = lockstep::fake_cuda;

namespace {

cudaError_t with_device(const char* function, int device) {
  return fake::call(
      function, [&](fake::Machine&, auto&) { return device == 0 ? cudaSuccess : cudaErrorInvalidDevice; });
}

}  // namespace

cudaError_t cudaGetLastError() {
  const cudaError_t broken = [] {
    const std::lock_guard lock(fake::machine().mutex);
    return fake::machine().broken;
  }();
  const cudaError_t code = std::exchange(fake::last_error(), cudaSuccess);
  return broken != cudaSuccess ? broken : code;
}

const char* cudaGetErrorName(cudaError_t code) {
  switch (code) {
    case cudaSuccess:
      return "cudaSuccess";
    case cudaErrorMemoryAllocation:
      return "cudaErrorMemoryAllocation";
    case cudaErrorDevicesUnavailable:
      return "cudaErrorDevicesUnavailable";
    case cudaErrorIllegalAddress:
      return "cudaErrorIllegalAddress";
    case cudaErrorStreamCaptureUnsupported:
      return "cudaErrorStreamCaptureUnsupported";
    case cudaErrorStreamCaptureInvalidated:
      return "cudaErrorStreamCaptureInvalidated";
    case cudaErrorStreamCaptureUnjoined:
      return "cudaErrorStreamCaptureUnjoined";
    case cudaErrorStreamCaptureIsolation:
      return "cudaErrorStreamCaptureIsolation";
    default:
      return "cudaError";
  }
}

const char* cudaGetErrorString(cudaError_t code) {
  return code == cudaErrorMemoryAllocation ? "out of memory" : "the fake CUDA refuses";
}

cudaError_t cudaGetDeviceCount(int* count) {
  return fake::call("cudaGetDeviceCount", [&](fake::Machine&, auto&) {
    *count = 1;
    return cudaSuccess;
  });
}

cudaError_t cudaGetDevice(int* device) {
  return fake::call("cudaGetDevice", [&](fake::Machine&, auto&) {
    *device = 0;
    return cudaSuccess;
  });
}

cudaError_t cudaInitDevice(int device, unsigned /*device_flags*/, unsigned /*flags*/) {
  return with_device("cudaInitDevice", device);
}

cudaError_t cudaSetDevice(int device) { return with_device("cudaSetDevice", device); }

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return fake::call("cudaDeviceGetStreamPriorityRange", [&](fake::Machine&, auto&) {
    *least = 0;
    *greatest = -5;
    return cudaSuccess;
  });
}
