#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

#include "core/host_device.h"

/// Mathematical functions that return the same bits everywhere, unlike the C library's, whose results depend
/// on its version and the processor. They use only IEEE additions, multiplications, divisions and square
/// roots.
namespace lockstep {

/// c[0] + c[1] x + ... by Horner's rule.
template <std::size_t count>
LOCKSTEP_HD inline double horner(const std::array<double, count>& c, double x) {
  double sum = c[count - 1];
  for (std::size_t i = count - 1; i-- > 0;) {
    sum = sum * x + c[i];
  }
  return sum;
}

/// Natural logarithm of a positive normal number, with an error below one unit in the last place (method and
/// constants of fdlibm's e_log.c).
LOCKSTEP_HD inline double logarithm(double x) {
  constexpr double ln2_high = 6.93147180369123816490e-01;  // 33 bits: exponent * ln2_high is exact
  constexpr double ln2_low = 1.90821492927058770002e-10;
  constexpr double square_root_of_half = 0.70710678118654752440;
  const auto bits = std::bit_cast<std::uint64_t>(x);
  int exponent = static_cast<int>(bits >> 52) - 1022;
  double mantissa = std::bit_cast<double>((bits & 0xfffffffffffffULL) | 0x3fe0000000000000ULL);  // [1/2, 1)
  if (mantissa < square_root_of_half) {
    mantissa *= 2.0;
    --exponent;
  }
  const double f = mantissa - 1.0;
  const double s = f / (2.0 + f);
  const double z = s * s;
  constexpr std::array<double, 8> coefficients = {0.0,
                                                  6.666666666666735130e-01,
                                                  3.999999999940941908e-01,
                                                  2.857142874366239149e-01,
                                                  2.222219843214978396e-01,
                                                  1.818357216161805012e-01,
                                                  1.531383769920937332e-01,
                                                  1.479819860511658591e-01};
  const double remainder = horner(coefficients, z);
  const double half_square = 0.5 * f * f;
  const double k = exponent;
  return k * ln2_high - ((half_square - (s * (half_square + remainder) + k * ln2_low)) - f);
}
/// e to the power of x <= 700, with a relative error below 1e-14; 0 for x < -700.
LOCKSTEP_HD inline double exponential(double x) {
  constexpr double ln2_high = 6.93147180369123816490e-01;  // 33 bits: exponent * ln2_high is exact
  constexpr double ln2_low = 1.90821492927058770002e-10;
  if (x < -700.0) {
    return 0.0;
  }
  constexpr double ln2_inverse = 1.4426950408889634;
  const double k = floor(x * ln2_inverse + 0.5);
  const double r = (x - k * ln2_high) - k * ln2_low;  // |r| <= ln(2) / 2
  double sum = 1.0;
  for (int i = 16; i > 0; --i) {
    sum = 1.0 + sum * r / i;
  }
  return sum * std::bit_cast<double>(static_cast<std::uint64_t>(1023 + static_cast<int>(k)) << 52);
}
/// Sine and cosine of an angle in degrees, |angle| <= 360, within 1e-15.
double sine_of_degrees(double angle);
double cosine_of_degrees(double angle);
/// `base` to the power of `exponent`, by squaring.
LOCKSTEP_HD inline double integer_power(double base, std::uint64_t exponent) {
  double result = 1.0;
  for (; exponent > 0; exponent /= 2) {
    if (exponent % 2 == 1) result *= base;
    base *= base;
  }
  return result;
}

}  // namespace lockstep
