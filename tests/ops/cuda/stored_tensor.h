#pragma once

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>

#include "device/cuda/bfloat16.h"
#include "ops/cuda/dnn.h"
#include "ops/tensor.h"

namespace lockstep::testing {

/// Memory as a GPU's: aligned to 256 bytes, at first all ones, which is NaN as float and as Bfloat16; guarded
/// at the end.
class DeviceBytes {
 public:
  explicit DeviceBytes(std::size_t bytes = 0)
      : bytes_(bytes), data_(std::aligned_alloc(256, (bytes + guard + 255) / 256 * 256), std::free) {
    std::memset(data_.get(), 0xff, bytes + guard);
    std::memset(data() + bytes, 0x5a, guard);
  }
  std::byte* data() { return static_cast<std::byte*>(data_.get()); }
  const std::byte* data() const { return static_cast<const std::byte*>(data_.get()); }
  std::size_t bytes() const { return bytes_; }
  bool end_intact() const {
    return std::all_of(data() + bytes_, data() + bytes_ + guard,
                       [](std::byte value) { return value == std::byte{0x5a}; });
  }

 private:
  static constexpr std::size_t guard = 256;
  std::size_t bytes_;
  std::unique_ptr<void, decltype(&std::free)> data_;
};

/// `value` as it is stored.
inline double rounded(double value, cuda::Type type) {
  const auto single = static_cast<float>(value);
  if (type != cuda::Type::bf16) return static_cast<double>(single);
  return static_cast<double>(cuda::to_float(cuda::from_float<cuda::Bfloat16>(single)));
}
inline Tensor rounded(Tensor tensor, cuda::Type type) {
  for (double& value : tensor.values) value = rounded(value, type);
  return tensor;
}

/// [sample][row][column][padded channel] of a type.
class StoredTensor {
 public:
  StoredTensor() = default;
  StoredTensor(int samples, Shape shape, cuda::Type type)
      : samples_(samples), shape_(shape), type_(type), memory_(elements() * cuda::bytes_of(type)) {}
  StoredTensor(const Tensor& tensor, cuda::Type type) : StoredTensor(tensor.samples, tensor.shape, type) {
    std::memset(memory_.data(), 0, memory_.bytes());
    for_each_element([&](std::size_t stored, std::size_t plain) { set(stored, tensor.values[plain]); });
  }

  void* data() { return memory_.data(); }
  bool end_intact() const { return memory_.end_intact(); }

  Tensor tensor() const {
    Tensor tensor(samples_, shape_);
    for_each_element([&](std::size_t stored, std::size_t plain) { tensor.values[plain] = get(stored); });
    return tensor;
  }

  bool padding_is_zero() const {
    const auto channels = static_cast<std::size_t>(cuda::padded_channels(shape_.channels));
    for (std::size_t i = 0; i < elements(); ++i) {
      const bool padding = i % channels >= static_cast<std::size_t>(shape_.channels);
      if (padding && !(get(i) == 0.0)) return false;
    }
    return true;
  }

 private:
  std::size_t elements() const {
    return static_cast<std::size_t>(samples_) * static_cast<std::size_t>(shape_.height) *
           static_cast<std::size_t>(shape_.width) *
           static_cast<std::size_t>(cuda::padded_channels(shape_.channels));
  }
  /// Calls visit(index here, index in a Tensor).
  template <class Visit>
  void for_each_element(const Visit& visit) const {
    const Tensor order(samples_, shape_);
    std::size_t stored = 0;
    for (int n = 0; n < samples_; ++n) {
      for (int h = 0; h < shape_.height; ++h) {
        for (int w = 0; w < shape_.width; ++w) {
          for (int c = 0; c < cuda::padded_channels(shape_.channels); ++c, ++stored) {
            if (c < shape_.channels) visit(stored, order.index(n, c, h, w));
          }
        }
      }
    }
  }
  double get(std::size_t index) const {
    if (type_ == cuda::Type::bf16) return read<cuda::Bfloat16>(index);
    return read<float>(index);
  }
  template <class T>
  double read(std::size_t index) const {
    T value;
    std::memcpy(&value, memory_.data() + index * sizeof value, sizeof value);
    return static_cast<double>(cuda::to_float(value));
  }
  void set(std::size_t index, double value) {
    if (type_ == cuda::Type::bf16) {
      write(index, cuda::from_float<cuda::Bfloat16>(static_cast<float>(value)));
    } else {
      write(index, static_cast<float>(value));
    }
  }
  template <class T>
  void write(std::size_t index, T value) {
    std::memcpy(memory_.data() + index * sizeof value, &value, sizeof value);
  }

  int samples_ = 0;
  Shape shape_{};
  cuda::Type type_ = cuda::Type::fp32;
  DeviceBytes memory_;
};

/// Whether two values are the same number, the sign of zero included, or both are NaN.
inline bool same_number(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

}  // namespace lockstep::testing
