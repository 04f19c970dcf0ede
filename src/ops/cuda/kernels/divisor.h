#pragma once

#include <cstdint>

#include "core/host_device.h"

namespace lockstep::cuda {

/// Divides by a number known before the kernel starts, with a few multiplications instead of a GPU's slow
/// integer division. Constructed on the host.
class Divisor {
 public:
  Divisor() = default;
  /// 1 <= divisor <= 2^31.
  explicit Divisor(std::uint32_t divisor) : inverse_((one + divisor - 1) / divisor) {}

  /// Computes n / divisor exactly as n * inverse_ / 2^63. The product exceeds the quotient by less than
  /// n / 2^63 < 1 / divisor, which does not reach the next integer.
  LOCKSTEP_HD std::uint32_t quotient(std::uint32_t n) const {
    const std::uint64_t low = (inverse_ & 0xffffffffU) * n;
    const std::uint64_t high = (inverse_ >> 32U) * n;
    return static_cast<std::uint32_t>((high + (low >> 32U)) >> 31U);
  }

 private:
  static constexpr std::uint64_t one = std::uint64_t{1} << 63U;
  std::uint64_t inverse_ = one;  ///< initially for divisor 1
};

}  // namespace lockstep::cuda
