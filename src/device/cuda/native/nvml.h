#pragma once

#include <string>

#include "device/cuda/native/shared_library.h"
#include "device/cuda_probe.h"

namespace lockstep::cuda {

/// The driver's management library, which describes GPUs without creating a context. If it is missing or does
/// not answer, results are empty; nothing throws.
class Nvml {
 public:
  using Device = void*;

  explicit Nvml(const char* library = "libnvidia-ml.so.1");
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  std::string driver_version() const;
  /// GPU at PCI address `bus`, as written by cudaDeviceGetPCIBusId; null: unknown.
  Device device(const std::string& bus) const;
  /// Sets free memory, compute mode, processes and NVLinks of `gpu`.
  void describe(Device device, GpuProbe& gpu) const;
  /// Connection of two GPUs; the caller sets `first` and `second`.
  LinkProbe link(Device first, Device second) const;

 private:
  template <class... Arguments>
  bool call(const char* name, Arguments... arguments) const;

  SharedLibrary library_;
  bool started_ = false;
};

}  // namespace lockstep::cuda
