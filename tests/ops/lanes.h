#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>

#include "ops/tensor.h"

namespace lockstep::test {

/// Floats aligned to 64 bytes, initially NaN to expose reads of unwritten memory, with a guard region after
/// the end.
class Lanes {
 public:
  explicit Lanes(std::size_t count = 0);
  float* data() { return data_.get(); }
  const float* data() const { return data_.get(); }
  std::size_t size() const { return count_; }
  bool end_intact() const;
  bool same_bits(const Lanes& other) const;

 private:
  std::size_t count_;
  std::unique_ptr<float, decltype(&std::free)> data_;
};

// Conversions to and from [group][channel][row][column][16]; missing lanes are zeros.
Lanes to_lanes(const Tensor& tensor);
Tensor from_lanes(const Lanes& lanes, int samples, Shape shape);

/// The values rounded to bf16 and packed into half the memory.
Lanes packed(const Lanes& lanes);
Lanes unpacked(const Lanes& lanes);

}  // namespace lockstep::test
