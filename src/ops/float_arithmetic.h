#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "core/host_device.h"

namespace lockstep {

/// Scalar float arithmetic for ops/elementwise.h.
struct FloatArithmetic {
  using Value = float;
  LOCKSTEP_HD static float number(float value) { return value; }
  LOCKSTEP_HD static float multiply_add(float a, float b, float c) { return fmaf(a, b, c); }
  LOCKSTEP_HD static float negative_multiply_add(float a, float b, float c) { return fmaf(-a, b, c); }
  LOCKSTEP_HD static float absolute(float a) { return fabsf(a); }
  LOCKSTEP_HD static float negative(float a) { return -a; }
  LOCKSTEP_HD static bool less(float a, float b) { return a < b; }
  LOCKSTEP_HD static bool above(float a, float b) { return a > b; }
  LOCKSTEP_HD static bool at_least(float a, float b) { return a >= b; }
  LOCKSTEP_HD static bool passes(float a) { return !(a <= 0.0F); }
  LOCKSTEP_HD static float choose(bool condition, float a, float b) { return condition ? a : b; }
  LOCKSTEP_HD static float choose_or_zero(bool condition, float a) { return condition ? a : 0.0F; }
  LOCKSTEP_HD static float zero_or(bool condition, float a) { return condition ? 0.0F : a; }
  /// Relies on the lowest bits of n + 1.5 * 2^23 being n, and on exponents starting at bit 23.
  LOCKSTEP_HD static float power_of_two(float n) {
    const float shifted = n + 12582912.0F;
    std::uint32_t bits = 0;
    memcpy(&bits, &shifted, sizeof bits);
    bits = (bits + 127U) << 23;
    float power = 0.0F;
    memcpy(&power, &bits, sizeof power);
    return power;
  }
};

}  // namespace lockstep
