#pragma once

#include <functional>
#include <span>
#include <vector>

#include "device/cuda/cuda_device.h"

namespace lockstep::test {

/// Values in device memory, which the host can only reach by copies.
template <class T>
class DeviceArray {
 public:
  /// Makes an array of zeros.
  DeviceArray(Device& device, std::size_t size)
      : device_(device), size_(size), buffer_(device.allocate(size * sizeof(T))) {}
  DeviceArray(Device& device, const std::vector<T>& values) : DeviceArray(device, values.size()) {
    store(values);
  }

  T* data() const { return buffer_.template as<T>(); }
  std::size_t size() const { return size_; }
  void store(const std::vector<T>& values) const {
    device_.copy(buffer_.data(), values.data(), values.size() * sizeof(T));
  }
  std::vector<T> fetch() const {
    std::vector<T> values(size_);
    device_.copy(values.data(), buffer_.data(), size_ * sizeof(T));
    return values;
  }

 private:
  Device& device_;
  std::size_t size_;
  Buffer buffer_;
};

/// Runs the work that `describe` submits to the device's first stream, and waits for it.
inline void run_on(Device& device, const std::function<void(Stream&)>& describe) {
  device.record([&] { describe(*device.streams()[0]); })->run();
}

/// Same as run_on, on a CUDA device.
inline void run_kernels(Device& device, const std::function<void(cuda::StreamHandle)>& work) {
  run_on(device, [&](Stream& stream) { work(cuda::handle_of(stream)); });
}

}  // namespace lockstep::test
