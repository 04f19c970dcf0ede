// Library with the functions of NVML that lockstep calls, for a machine with two GPUs connected by NVLink.
#include <algorithm>
#include <cstring>
#include <string_view>

namespace {
int first_gpu, second_gpu;
bool started = false;
}  // namespace

extern "C" {
int nvmlInit_v2() {
  started = true;
  return 0;
}
int nvmlShutdown() {
  started = false;
  return 0;
}
int nvmlSystemGetDriverVersion(char* version, unsigned length) {
  constexpr std::string_view text = "580.95.05";
  if (!started || length <= text.size()) return 7;
  std::strncpy(version, text.data(), length);
  return 0;
}
int nvmlDeviceGetHandleByPciBusId_v2(const char* bus, void** device) {
  const std::string_view name = bus;
  if (name != "0000:01:00.0" && name != "0000:02:00.0") return 6;
  *device = name == "0000:01:00.0" ? &first_gpu : &second_gpu;
  return 0;
}
int nvmlDeviceGetMemoryInfo(void* /*device*/, unsigned long long* memory) {
  const unsigned long long total_free_used[] = {100, 70, 30};
  std::copy_n(total_free_used, 3, memory);
  return 0;
}
int nvmlDeviceGetComputeMode(void* device, int* mode) {
  *mode = device == &first_gpu ? 0 : 3;
  return 0;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void* device, unsigned* count, void* /*infos*/) {
  *count = device == &first_gpu ? 2 : 0;
  return *count > 0 ? 7 : 0;  // no room for two
}
int nvmlDeviceGetNvLinkState(void* /*device*/, unsigned link, int* active) {
  if (link >= 18) return 2;
  *active = link < 17 ? 1 : 0;
  return 0;
}
int nvmlDeviceGetP2PStatus(void* first, void* second, int /*capability*/, int* status) {
  *status = first == second ? 5 : 0;
  return 0;
}
int nvmlDeviceGetTopologyCommonAncestor(void* /*first*/, void* /*second*/, int* level) {
  *level = 30;
  return 0;
}
}
