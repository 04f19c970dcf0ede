// Functions of the runtime that report facts about GPUs, and errors.
#include <cstdio>
#include <map>
#include <string_view>
#include <utility>

#include "fake_cuda/machine.h"

namespace fake = lockstep::fake_cuda;

namespace {

bool is_gpu(const fake::Machine& all, int device) {
  return device >= 0 && static_cast<std::size_t>(device) < all.facts.gpus.size();
}

/// The current GPU of this thread, on which it creates streams and allocates memory.
thread_local int current_gpu = 0;

cudaError_t with_device(const char* function, int device) {
  return fake::call(function, [&](fake::Machine& all, auto&) {
    return is_gpu(all, device) ? cudaSuccess : cudaErrorInvalidDevice;
  });
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
  static const std::map<cudaError_t, const char*> names = {
      {cudaSuccess, "cudaSuccess"},
      {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation"},
      {cudaErrorDevicesUnavailable, "cudaErrorDevicesUnavailable"},
      {cudaErrorIllegalAddress, "cudaErrorIllegalAddress"},
      {cudaErrorSystemNotReady, "cudaErrorSystemNotReady"},
      {cudaErrorSystemDriverMismatch, "cudaErrorSystemDriverMismatch"},
      {cudaErrorStreamCaptureUnjoined, "cudaErrorStreamCaptureUnjoined"}};
  const auto found = names.find(code);
  return found == names.end() ? "cudaError" : found->second;
}

const char* cudaGetErrorString(cudaError_t code) {
  return code == cudaErrorMemoryAllocation ? "out of memory" : "the fake CUDA refuses";
}

cudaError_t cudaDriverGetVersion(int* version) {
  return fake::call("cudaDriverGetVersion", [&](fake::Machine& all, auto&) {
    *version = all.facts.driver_supports;
    return cudaSuccess;
  });
}

cudaError_t cudaGetDeviceCount(int* count) {
  return fake::call("cudaGetDeviceCount", [&](fake::Machine& all, auto&) {
    *count = 0;
    if (all.facts.driver_supports / 1000 < CUDART_VERSION / 1000) return cudaErrorInsufficientDriver;
    if (all.facts.gpus.empty()) return cudaErrorNoDevice;
    *count = static_cast<int>(all.facts.gpus.size());
    return cudaSuccess;
  });
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  return fake::call("cudaGetDeviceProperties", [&](fake::Machine& all, auto&) {
    if (!is_gpu(all, device)) return cudaErrorInvalidDevice;
    const fake::Gpu& gpu = all.facts.gpus[static_cast<std::size_t>(device)];
    *properties = {};
    std::string_view(gpu.name).copy(properties->name, sizeof properties->name - 1);
    properties->major = gpu.major;
    properties->minor = gpu.minor;
    properties->multiProcessorCount = 1;
    properties->totalGlobalMem = gpu.memory;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetPCIBusId(char* bus, int size, int device) {
  return fake::call("cudaDeviceGetPCIBusId", [&](fake::Machine& all, auto&) {
    if (!is_gpu(all, device)) return cudaErrorInvalidDevice;
    std::snprintf(bus, static_cast<std::size_t>(size), "0000:%02x:00.0", static_cast<unsigned>(device));
    return cudaSuccess;
  });
}

cudaError_t cudaGetDevice(int* device) {
  return fake::call("cudaGetDevice", [&](fake::Machine&, auto&) {
    *device = current_gpu;
    return cudaSuccess;
  });
}

/// Unlike cudaSetDevice, leaves the current GPU unchanged.
cudaError_t cudaInitDevice(int device, unsigned /*device_flags*/, unsigned /*flags*/) {
  return with_device("cudaInitDevice", device);
}

cudaError_t cudaSetDevice(int device) {
  const cudaError_t code = with_device("cudaSetDevice", device);
  if (code == cudaSuccess) current_gpu = device;
  return code;
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return fake::call("cudaDeviceGetStreamPriorityRange", [&](fake::Machine&, auto&) {
    *least = 0;
    *greatest = -5;
    return cudaSuccess;
  });
}
