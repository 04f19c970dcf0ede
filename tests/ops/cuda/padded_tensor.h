#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "core/bfloat16.h"
#include "ops/cuda/device_under_test.h"
#include "ops/tensor.h"

namespace lockstep::test {

inline float load_element(cuda::Type type, const std::byte* data, std::size_t i) {
  const std::byte* element = data + i * cuda::bytes_of(type);
  if (type != cuda::Type::bf16) return *reinterpret_cast<const float*>(element);
  return to_float(*reinterpret_cast<const Bfloat16*>(element));
}

inline void store_element(cuda::Type type, double value, std::byte* data, std::size_t i) {
  std::byte* element = data + i * cuda::bytes_of(type);
  if (type == cuda::Type::bf16) {
    *reinterpret_cast<Bfloat16*>(element) = from_float<Bfloat16>(static_cast<float>(value));
  } else {
    *reinterpret_cast<float*>(element) = static_cast<float>(value);
  }
}

/// `value` rounded to `type`.
inline double rounded(double value, cuda::Type type) {
  alignas(float) std::byte stored[sizeof(float)];
  store_element(type, value, stored, 0);
  return static_cast<double>(load_element(type, stored, 0));
}
inline void round_to(cuda::Type type, std::vector<double>& values) {
  for (double& value : values) value = rounded(value, type);
}
inline Tensor rounded(Tensor tensor, cuda::Type type) {
  round_to(type, tensor.values);
  return tensor;
}

/// Whether two values are the same number, including the sign of zero, or both NaN.
inline bool same_number(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

/// A tensor in the layout of CUDA operations, [sample][row][column][padded channel], in device memory.
class PaddedTensor {
 public:
  PaddedTensor() = default;
  PaddedTensor(cuda::Type type, int samples, Shape shape)
      : type_(type), samples_(samples), shape_(shape), memory_(count() * cuda::bytes_of(type)) {}
  PaddedTensor(cuda::Type type, const Tensor& tensor) : PaddedTensor(type, tensor.samples, tensor.shape) {
    std::vector<std::byte> bytes(memory_.bytes());
    for_each_channel([&](int n, int c, int h, int w, std::size_t i) {
      store_element(type_, c < shape_.channels ? tensor.at(n, c, h, w) : 0.0, bytes.data(), i);
    });
    memory_.store(bytes);
  }

  /// Address, or null if the tensor is empty.
  void* data() const { return memory_.data(); }
  std::vector<std::byte> bytes() const { return memory_.fetch(); }
  bool end_intact() const { return memory_.end_intact(); }
  Tensor values() const {
    const std::vector<std::byte> bytes = memory_.fetch();
    Tensor tensor(samples_, shape_);
    for_each_channel([&](int n, int c, int h, int w, std::size_t i) {
      if (c < shape_.channels) {
        tensor.at(n, c, h, w) = static_cast<double>(load_element(type_, bytes.data(), i));
      }
    });
    return tensor;
  }
  bool padding_is_zero() const {
    const std::vector<std::byte> bytes = memory_.fetch();
    bool zero = true;
    for_each_channel([&](int, int c, int, int, std::size_t i) {
      zero = zero && (c < shape_.channels || load_element(type_, bytes.data(), i) == 0.0F);
    });
    return zero;
  }

 private:
  std::size_t stride() const { return static_cast<std::size_t>(cuda::padded_channels(shape_.channels)); }
  std::size_t count() const {
    return stride() * static_cast<std::size_t>(shape_.height * shape_.width * samples_);
  }
  /// Calls visit(sample, channel, row, column, element), including padding.
  template <class Visit>
  void for_each_channel(const Visit& visit) const {
    for (std::size_t i = 0; i < count(); ++i) {
      const auto pixel = static_cast<int>(i / stride());
      const int row = pixel / shape_.width;
      visit(row / shape_.height, static_cast<int>(i % stride()), row % shape_.height, pixel % shape_.width,
            i);
    }
  }

  cuda::Type type_ = cuda::Type::fp32;
  int samples_ = 0;
  Shape shape_;
  DeviceMemory memory_;
};

/// Expects the values of `expected` rounded to `type`.
inline void expect_same(const Tensor& actual, const Tensor& expected, cuda::Type type,
                        const std::string& what) {
  ASSERT_EQ(actual.values.size(), expected.values.size()) << what;
  for (std::size_t i = 0; i < actual.values.size(); ++i) {
    const double wanted = rounded(expected.values[i], type);
    ASSERT_TRUE(same_number(actual.values[i], wanted))
        << what << ", element " << i << ": " << actual.values[i] << " instead of " << wanted;
  }
}

}  // namespace lockstep::test
