#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <vector>

#include "device/cuda/cuda_device.h"
#include "ops/cuda/dnn/cudnn.h"
#include "support/device_array.h"

/// Device and library for tests of operations: a GPU or its emulation.
namespace lockstep::test {

inline Device& device_under_test() {
  static const std::unique_ptr<Device> device = cuda::make_cuda_device();
  return *device;
}

inline cuda::Dnn& dnn_under_test() {
  static const std::unique_ptr<cuda::Dnn> dnn = cuda::make_cudnn({});
  return *dnn;
}

/// Enqueues work on the device's stream and waits for it.
inline void run_on_device(const std::function<void(cuda::StreamHandle)>& work) {
  run_kernels(device_under_test(), work);
}

/// Device memory, initially NaN in every type to expose reads of unwritten memory, with a guard region after
/// the end.
class DeviceMemory {
 public:
  explicit DeviceMemory(std::size_t bytes = 0)
      : bytes_(bytes), buffer_(device_under_test().allocate(bytes + guard)) {
    std::vector<std::byte> first(bytes + guard, std::byte{0xff});
    std::fill_n(first.begin() + static_cast<std::ptrdiff_t>(bytes), guard, guarded);
    store(first);
  }

  std::byte* data() const { return bytes_ > 0 ? buffer_.data() : nullptr; }
  std::size_t bytes() const { return bytes_; }
  float* floats() const { return reinterpret_cast<float*>(data()); }

  void store(std::span<const std::byte> bytes) const {
    device_under_test().copy(buffer_.data(), bytes.data(), bytes.size());
  }
  void store(std::span<const float> floats) const { store(std::as_bytes(floats)); }
  template <class Value = std::byte>
  std::vector<Value> fetch() const {
    std::vector<Value> values(bytes_ / sizeof(Value));
    device_under_test().copy(values.data(), buffer_.data(), values.size() * sizeof(Value));
    return values;
  }
  bool end_intact() const {
    std::array<std::byte, guard> end{};
    device_under_test().copy(end.data(), buffer_.data() + bytes_, guard);
    return std::ranges::all_of(end, [](std::byte byte) { return byte == guarded; });
  }

 private:
  static constexpr std::size_t guard = 256;
  static constexpr std::byte guarded{0x3c};

  std::size_t bytes_;
  Buffer buffer_;
};

/// Copies values to device memory. The address is null if there are no values.
template <class Value>
DeviceMemory on_device(const std::vector<Value>& values) {
  DeviceMemory memory(values.size() * sizeof(Value));
  memory.store(std::as_bytes(std::span(values)));
  return memory;
}

}  // namespace lockstep::test
