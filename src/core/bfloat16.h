#pragma once

#include <cstdint>
#include <cstring>

#include "core/host_device.h"

namespace lockstep {

/// Upper half of a float: 8 bits of exponent, 7 of mantissa. For storage only; arithmetic is done in float.
struct Bfloat16 {
  std::uint16_t bits;
};

LOCKSTEP_HD inline float to_float(float value) { return value; }
LOCKSTEP_HD inline float to_float(Bfloat16 value) {
  const std::uint32_t bits = std::uint32_t{value.bits} << 16;
  float result = 0;
  memcpy(&result, &bits, sizeof result);
  return result;
}

/// Rounds to the nearest, ties to even; NaN stays NaN.
template <class T>
LOCKSTEP_HD T from_float(float value);
template <>
LOCKSTEP_HD inline float from_float<float>(float value) {
  return value;
}
template <>
LOCKSTEP_HD inline Bfloat16 from_float<Bfloat16>(float value) {
  std::uint32_t bits = 0;
  memcpy(&bits, &value, sizeof bits);
  if ((bits & 0x7fffffffU) > 0x7f800000U) return {static_cast<std::uint16_t>((bits >> 16) | 0x40U)};
  return {static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16)};
}

}  // namespace lockstep
