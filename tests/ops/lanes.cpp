#include "ops/lanes.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "core/bfloat16.h"
#include "ops/cpu/op.h"

namespace lockstep::test {
namespace {

constexpr std::size_t guard = 64;

float* allocate(std::size_t count) {
  const std::size_t bytes = (count * sizeof(float) + 63) / 64 * 64;
  return static_cast<float*>(std::aligned_alloc(64, bytes));
}

}  // namespace

Lanes::Lanes(std::size_t count) : count_(count), data_(allocate(count + guard), std::free) {
  std::fill_n(data_.get(), count + guard, std::numeric_limits<float>::quiet_NaN());
  std::fill_n(data_.get() + count, guard, 12345.0F);
}

bool Lanes::end_intact() const {
  return std::all_of(data_.get() + count_, data_.get() + count_ + guard,
                     [](float v) { return v == 12345.0F; });
}

bool Lanes::same_bits(const Lanes& other) const {
  return count_ == other.count_ && std::memcmp(data(), other.data(), count_ * sizeof(float)) == 0;
}

Lanes to_lanes(const Tensor& tensor) {
  const std::size_t size = tensor.shape.size();
  Lanes lanes(size * cpu::groups_of(tensor.samples) * cpu::lanes);
  std::fill_n(lanes.data(), lanes.size(), 0.0F);
  for (std::size_t n = 0; n < static_cast<std::size_t>(tensor.samples); ++n) {
    for (std::size_t i = 0; i < size; ++i) {
      lanes.data()[(n / 16 * size + i) * 16 + n % 16] = static_cast<float>(tensor.values[n * size + i]);
    }
  }
  return lanes;
}

Tensor from_lanes(const Lanes& lanes, int samples, Shape shape) {
  Tensor tensor(samples, shape);
  const std::size_t size = shape.size();
  for (std::size_t n = 0; n < static_cast<std::size_t>(samples); ++n) {
    for (std::size_t i = 0; i < size; ++i) {
      tensor.values[n * size + i] = static_cast<double>(lanes.data()[(n / 16 * size + i) * 16 + n % 16]);
    }
  }
  return tensor;
}

Lanes packed(const Lanes& lanes) {
  Lanes result(lanes.size() / 2);
  auto* const to = reinterpret_cast<Bfloat16*>(result.data());
  for (std::size_t i = 0; i < lanes.size(); ++i) to[i] = from_float<Bfloat16>(lanes.data()[i]);
  return result;
}

Lanes unpacked(const Lanes& lanes) {
  Lanes result(lanes.size() * 2);
  const auto* const from = reinterpret_cast<const Bfloat16*>(lanes.data());
  for (std::size_t i = 0; i < result.size(); ++i) result.data()[i] = to_float(from[i]);
  return result;
}

}  // namespace lockstep::test
