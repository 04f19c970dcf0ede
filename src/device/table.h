#pragma once

#include <span>
#include <type_traits>

#include "device/device.h"

namespace lockstep {

/// Constant values in memory of a device.
template <class T>
class Table {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Table() = default;
  Table(Device& device, std::span<const T> values)
      : buffer_(device.allocate(values.size_bytes())), size_(values.size()) {
    if (!values.empty()) device.copy(buffer_.data(), values.data(), values.size_bytes());
  }
  /// Address in the device's memory.
  const T* data() const { return reinterpret_cast<const T*>(buffer_.data()); }
  std::size_t size() const { return size_; }

 private:
  Buffer buffer_;
  std::size_t size_ = 0;
};

}  // namespace lockstep
