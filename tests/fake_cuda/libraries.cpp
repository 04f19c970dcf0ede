// Replaces the installed libraries NVML, cuDNN and NCCL: the functions that report GPUs and versions.
#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <string_view>
#include <utility>

#include "device/cuda/native/shared_library.h"
#include "fake_cuda/machine.h"

namespace fake = lockstep::fake_cuda;

namespace {

constexpr int success = 0, not_supported = 3, not_found = 6, insufficient_size = 7;

fake::MachineFacts facts() {
  const std::lock_guard lock(fake::machine().mutex);
  return fake::machine().facts;
}

int init() { return success; }
int driver_version(char* text, unsigned size) {
  std::snprintf(text, size, "%s", facts().driver);
  return success;
}
/// A GPU's handle is the address of its element.
std::array<char, 64> handles;
fake::Gpu gpu_of(void* device) {
  return facts().gpus.at(static_cast<std::size_t>(static_cast<char*>(device) - handles.data()));
}
int handle_of_bus(const char* bus, void** device) {
  unsigned number = 0;
  if (std::sscanf(bus, "0000:%x:00.0", &number) != 1 || number >= facts().gpus.size()) return not_found;
  *device = &handles.at(number);
  return success;
}
int compute_mode(void* device, int* mode) {
  *mode = gpu_of(device).mode;
  return success;
}
int memory_info(void* device, unsigned long long* total_free_used) {
  const fake::Gpu gpu = gpu_of(device);
  if (gpu.free == 0) return not_supported;
  const unsigned long long memory[] = {gpu.memory, gpu.free, gpu.memory - gpu.free};
  std::copy_n(memory, 3, total_free_used);
  return success;
}
/// Reports only the number of processes, because the caller passes no buffer for them.
int running_processes(void* device, unsigned* count, void* /*infos*/) {
  *count = gpu_of(device).processes;
  return *count > 0 ? insufficient_size : success;
}
/// Reports one more link than are active, as an inactive link.
int nvlink_state(void* device, unsigned link, int* active) {
  const unsigned links = gpu_of(device).nvlinks;
  *active = link < links ? 1 : 0;
  return link <= links ? success : not_supported;
}
int p2p_status(void* first, void* second, int /*capability*/, int* status) {
  *status = gpu_of(first).nvlinks > 0 && gpu_of(second).nvlinks > 0 ? 0 : 5;
  return success;
}
int common_ancestor(void* /*first*/, void* /*second*/, int* level) {
  *level = facts().common_ancestor;
  return *level < 0 ? not_supported : success;
}
std::size_t cudnn_version() { return facts().cudnn; }
int nccl_version(int* version) {
  *version = facts().nccl;
  return success;
}

constexpr std::string_view nvml_file = "libnvidia-ml.so.1";
constexpr std::string_view cudnn_file = "libcudnn.so.9";
constexpr std::string_view nccl_file = "libnccl.so.2";

bool is_installed(std::string_view library) {
  const fake::MachineFacts all = facts();
  if (library == cudnn_file) return all.cudnn != 0;
  if (library == nccl_file) return all.nccl != 0;
  return library == nvml_file && all.driver_supports != 0;
}

}  // namespace

namespace lockstep::cuda {

SharedLibrary::SharedLibrary(const char* name)
    : handle_(is_installed(name) ? const_cast<char*>(name) : nullptr),
      failure_(handle_ == nullptr ? std::string(name) + ": no such file" : "") {}

SharedLibrary::~SharedLibrary() = default;

void* SharedLibrary::find(const char* name) const {
  static const std::map<std::pair<std::string_view, std::string_view>, void*> functions = {
      {{nvml_file, "nvmlInit_v2"}, reinterpret_cast<void*>(init)},
      {{nvml_file, "nvmlShutdown"}, reinterpret_cast<void*>(init)},
      {{nvml_file, "nvmlSystemGetDriverVersion"}, reinterpret_cast<void*>(driver_version)},
      {{nvml_file, "nvmlDeviceGetHandleByPciBusId_v2"}, reinterpret_cast<void*>(handle_of_bus)},
      {{nvml_file, "nvmlDeviceGetComputeMode"}, reinterpret_cast<void*>(compute_mode)},
      {{nvml_file, "nvmlDeviceGetMemoryInfo"}, reinterpret_cast<void*>(memory_info)},
      {{nvml_file, "nvmlDeviceGetComputeRunningProcesses_v3"}, reinterpret_cast<void*>(running_processes)},
      {{nvml_file, "nvmlDeviceGetNvLinkState"}, reinterpret_cast<void*>(nvlink_state)},
      {{nvml_file, "nvmlDeviceGetP2PStatus"}, reinterpret_cast<void*>(p2p_status)},
      {{nvml_file, "nvmlDeviceGetTopologyCommonAncestor"}, reinterpret_cast<void*>(common_ancestor)},
      {{cudnn_file, "cudnnGetVersion"}, reinterpret_cast<void*>(cudnn_version)},
      {{nccl_file, "ncclGetVersion"}, reinterpret_cast<void*>(nccl_version)},
  };
  const auto found = functions.find({static_cast<const char*>(handle_), name});
  return found == functions.end() ? nullptr : found->second;
}

}  // namespace lockstep::cuda
