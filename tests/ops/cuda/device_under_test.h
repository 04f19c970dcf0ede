#pragma once

#include <functional>
#include <vector>

#include "device/cuda/cuda_device.h"
#include "ops/cuda/dnn/cudnn.h"

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
  Device& device = device_under_test();
  Stream& stream = *device.streams()[0];
  device.record([&] { work(cuda::handle_of(stream)); })->run();
}

/// Memory of the device, initially NaN in every type to expose reads of unwritten memory, with a guard behind
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
  std::vector<std::byte> fetch() const { return fetch(bytes_); }
  template <class Value>
  std::vector<Value> fetch_all() const {
    std::vector<Value> values(bytes_ / sizeof(Value));
    device_under_test().copy(values.data(), buffer_.data(), values.size() * sizeof(Value));
    return values;
  }
  std::vector<float> fetch_floats() const { return fetch_all<float>(); }
  bool end_intact() const {
    const std::vector<std::byte> all = fetch(bytes_ + guard);
    return std::all_of(all.begin() + static_cast<std::ptrdiff_t>(bytes_), all.end(),
                       [](std::byte byte) { return byte == guarded; });
  }

 private:
  static constexpr std::size_t guard = 256;
  static constexpr std::byte guarded{0x3c};

  std::vector<std::byte> fetch(std::size_t bytes) const {
    std::vector<std::byte> result(bytes);
    device_under_test().copy(result.data(), buffer_.data(), bytes);
    return result;
  }

  std::size_t bytes_;
  Buffer buffer_;
};

/// Copies values to memory of the device. The address for no values is null.
template <class Value>
DeviceMemory on_device(const std::vector<Value>& values) {
  DeviceMemory memory(values.size() * sizeof(Value));
  memory.store(std::as_bytes(std::span(values)));
  return memory;
}

}  // namespace lockstep::test
