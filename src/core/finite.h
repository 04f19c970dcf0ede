#pragma once

#include <bit>
#include <cstdint>
#include <span>

namespace lockstep {

/// Whether no value is infinite or NaN, without a branch per value.
inline bool all_finite(std::span<const float> values) {
  constexpr std::uint32_t exponent = 0x7f800000U, lowest_bit = 0x00800000U;
  std::uint32_t carries = 0;  // into the sign bit: only if all bits of the exponent are set
  for (const float value : values) carries |= (std::bit_cast<std::uint32_t>(value) & exponent) + lowest_bit;
  return carries >> 31U == 0;
}

}  // namespace lockstep
