#pragma once

#include <optional>
#include <string>

#include "device/cuda/native/shared_library.h"
#include "device/cuda_probe.h"

namespace lockstep::cuda {

/// The driver's management library: facts about GPUs without a context on them. Where it
/// is missing or does not answer, nothing is known and nothing fails.
class Nvml {
 public:
  using Device = void*;

  explicit Nvml(const char* library = "libnvidia-ml.so.1");
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  std::string driver_version() const;
  /// Null where unknown. `bus` is a PCI address as cudaDeviceGetPCIBusId writes it.
  Device device(const std::string& bus) const;
  /// Adds free memory, compute mode, processes and NVLinks to `gpu`.
  void describe(Device device, GpuProbe& gpu) const;
  /// Path and whether it is direct.
  LinkProbe link(Device first, Device second) const;

 private:
  template <class... Arguments>
  bool call(const char* name, Arguments... arguments) const;

  SharedLibrary library_;
  bool started_ = false;
};

}  // namespace lockstep::cuda
