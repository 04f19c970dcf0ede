#pragma once

#include <cstdint>

#include "core/host_device.h"

/// Functions of the C library whose results differ between its versions and processors, here the same bits
/// everywhere: IEEE additions, multiplications, divisions and square roots only.
namespace lockstep {

/// Natural logarithm of a positive normal number, error below one unit in the last place (method and
/// constants of fdlibm's e_log.c).
double logarithm(double x);
/// e to the power of x, relative error below 1e-14; 0 below -700, x <= 700.
double exponential(double x);
/// Sine and cosine of an angle in degrees, |angle| <= 360, within 1e-15.
double sine_of_degrees(double angle);
double cosine_of_degrees(double angle);
/// A base to a power, by squaring.
LOCKSTEP_HD inline double integer_power(double base, std::uint64_t exponent) {
  double result = 1.0;
  for (; exponent > 0; exponent /= 2) {
    if (exponent % 2 == 1) result *= base;
    base *= base;
  }
  return result;
}

}  // namespace lockstep
