#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <array>
#include <cstdlib>

#include "device/cuda/native/nvml.h"
#include "device/cuda/native/shared_library.h"
#include "device/cuda_probe.h"

namespace lockstep::cuda {
namespace {

/// Returns whether the call succeeded; if not, sets found.failure.
bool succeeds(cudaError_t code, Probe& found) {
  if (code == cudaSuccess) return true;
  cudaGetLastError();  // clears the error, which later calls would return
  found.failure = fmt::format("{} ({})", cudaGetErrorString(code), cudaGetErrorName(code));
  return false;
}

/// Number of visible GPUs, 0 after a failure. Having no GPU is not a failure, although CUDA's first call then
/// fails.
int visible_gpus(Probe& found) {
  int count = 0;
  const cudaError_t code = cudaGetDeviceCount(&count);
  if (code == cudaErrorNoDevice) {
    cudaGetLastError();
    return 0;
  }
  return succeeds(code, found) ? count : 0;
}

/// Description of a GPU; none if CUDA cannot describe it.
std::optional<GpuProbe> gpu_at(int number) {
  cudaDeviceProp properties{};
  std::array<char, 32> bus{};
  if (cudaGetDeviceProperties(&properties, number) != cudaSuccess ||
      cudaDeviceGetPCIBusId(bus.data(), static_cast<int>(bus.size()), number) != cudaSuccess) {
    cudaGetLastError();
    return std::nullopt;
  }
  return GpuProbe{.name = properties.name,
                  .major = properties.major,
                  .minor = properties.minor,
                  .memory_bytes = properties.totalGlobalMem,
                  .bus = bus.data()};
}

void find_gpus(Probe& found, const Nvml& nvml) {
  for (int i = 0, count = visible_gpus(found); i < count; ++i) {
    std::optional<GpuProbe> gpu = gpu_at(i);
    if (!gpu) {
      found.failure = fmt::format("GPU {} does not answer", i);
      return;
    }
    nvml.describe(nvml.device(gpu->bus), *gpu);
    found.gpus.push_back(std::move(*gpu));
  }
}

void find_links(Probe& found, const Nvml& nvml) {
  for (std::size_t i = 0; i < found.gpus.size(); ++i) {
    for (std::size_t k = i + 1; k < found.gpus.size(); ++k) {
      LinkProbe link = nvml.link(nvml.device(found.gpus[i].bus), nvml.device(found.gpus[k].bus));
      link.first = static_cast<int>(i);
      link.second = static_cast<int>(k);
      found.links.push_back(std::move(link));
    }
  }
}

LibraryProbe open_cudnn() {
  const SharedLibrary library("libcudnn.so.9");
  if (!library) return {.failure = library.failure()};
  auto* const version = library.function<std::size_t()>("cudnnGetVersion");
  if (version == nullptr) return {.failure = "libcudnn.so.9 has no cudnnGetVersion"};
  const std::size_t number = version();  // 91900
  return {.version = fmt::format("{}.{}.{}", number / 10000, number / 100 % 100, number % 100)};
}

LibraryProbe open_nccl() {
  const SharedLibrary library("libnccl.so.2");
  if (!library) return {.failure = library.failure()};
  auto* const version = library.function<int(int*)>("ncclGetVersion");
  int number = 0;  // 22809
  if (version == nullptr || version(&number) != 0) return {.failure = "libnccl.so.2 has no ncclGetVersion"};
  return {.version = fmt::format("{}.{}.{}", number / 10000, number / 100 % 100, number % 100)};
}

}  // namespace

Probe probe(Detail detail) {
  Probe found;
  found.built_for = CUDART_VERSION;
  if (const char* visible = std::getenv("CUDA_VISIBLE_DEVICES")) found.visible_devices = visible;
  if (succeeds(cudaDriverGetVersion(&found.driver_supports), found) && found.driver_supports > 0) {
    const Nvml nvml;
    found.driver = nvml.driver_version();
    if (found.driver_supports / 1000 >= found.built_for / 1000) find_gpus(found, nvml);
    if (detail == Detail::all) find_links(found, nvml);
  }
  if (detail == Detail::all || !found.gpus.empty()) found.cudnn = open_cudnn();
  if (detail == Detail::all) found.nccl = open_nccl();
  return found;
}

}  // namespace lockstep::cuda
