#include "device/cuda/native/nvml.h"

#include <array>

// Functions and constants of NVML's stable interface (NVML API reference) are declared here, because not
// every toolkit has nvml.h.
namespace lockstep::cuda {
namespace {

constexpr int success = 0;
constexpr int insufficient_size = 7;

struct Memory {
  unsigned long long total, free, used;
};
constexpr unsigned max_nvlinks = 36;

enum PeerCapability { peer_read = 0, peer_nvlink = 2 };
constexpr int peer_ok = 0;

std::string ancestor_name(int level) {
  switch (level) {
    case 0:
      return "one board";
    case 10:
      return "one PCIe switch";
    case 20:
      return "several PCIe switches";
    case 30:
      return "one PCIe host bridge";
    case 40:
      return "PCIe host bridges of one NUMA node";
    default:
      return "PCIe and the link between processors";
  }
}

ComputeMode mode_of(int number) {
  switch (number) {
    case 2:
      return ComputeMode::prohibited;
    case 3:
      return ComputeMode::exclusive_process;
    default:
      return ComputeMode::shared;
  }
}

}  // namespace

Nvml::Nvml(const char* library) : library_(library) { started_ = library_ && call("nvmlInit_v2"); }
Nvml::~Nvml() {
  if (started_) call("nvmlShutdown");
}

template <class... Arguments>
bool Nvml::call(const char* name, Arguments... arguments) const {
  auto* const function = library_.function<int(Arguments...)>(name);
  return function != nullptr && function(arguments...) == success;
}

std::string Nvml::driver_version() const {
  std::array<char, 96> text{};
  if (!started_ || !call("nvmlSystemGetDriverVersion", text.data(), static_cast<unsigned>(text.size()))) {
    return {};
  }
  return text.data();
}

Nvml::Device Nvml::device(const std::string& bus) const {
  Device device = nullptr;
  return started_ && call("nvmlDeviceGetHandleByPciBusId_v2", bus.c_str(), &device) ? device : nullptr;
}

void Nvml::describe(Device device, GpuProbe& gpu) const {
  if (device == nullptr) return;
  Memory memory{};
  if (call("nvmlDeviceGetMemoryInfo", device, &memory)) gpu.free_bytes = memory.free;
  int mode = 0;
  if (call("nvmlDeviceGetComputeMode", device, &mode)) gpu.mode = mode_of(mode);
  // Without a buffer for the processes, the call fails and returns their number, unless there are none.
  auto* const processes =
      library_.function<int(Device, unsigned*, void*)>("nvmlDeviceGetComputeRunningProcesses_v3");
  unsigned count = 0;
  if (processes != nullptr && processes(device, &count, nullptr) == insufficient_size) {
    gpu.processes = static_cast<int>(count);
  }
  for (unsigned link = 0; link < max_nvlinks; ++link) {
    int active = 0;
    if (!call("nvmlDeviceGetNvLinkState", device, link, &active)) break;
    gpu.nvlinks += active;
  }
}

LinkProbe Nvml::link(Device first, Device second) const {
  LinkProbe link;
  link.path = "unknown";
  if (first == nullptr || second == nullptr) return link;
  int status = -1, level = 0;
  link.direct = call("nvmlDeviceGetP2PStatus", first, second, int{peer_read}, &status) && status == peer_ok;
  if (call("nvmlDeviceGetP2PStatus", first, second, int{peer_nvlink}, &status) && status == peer_ok) {
    link.path = "NVLink";
  } else if (call("nvmlDeviceGetTopologyCommonAncestor", first, second, &level)) {
    link.path = ancestor_name(level);
  }
  return link;
}

}  // namespace lockstep::cuda
