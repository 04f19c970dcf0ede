#pragma once

#include <array>
#include <cmath>
#include <cstdint>

#include "core/elementary.h"
#include "core/host_device.h"

namespace lockstep {

/// Absolute value of the normal quantile with tail `probability` < 0.075; coefficients of AS 241, PPND16.
LOCKSTEP_HD inline double tail_quantile(double probability) {
  constexpr std::array<double, 8> middle_numerator = {1.42343711074968357734e0,  4.63033784615654529590e0,
                                                      5.76949722146069140550e0,  3.64784832476320460504e0,
                                                      1.27045825245236838258e0,  2.41780725177450611770e-1,
                                                      2.27238449892691845833e-2, 7.74545014278341407640e-4};
  constexpr std::array<double, 8> middle_denominator = {1.0,
                                                        2.05319162663775882187e0,
                                                        1.67638483018380384940e0,
                                                        6.89767334985100004550e-1,
                                                        1.48103976427480074590e-1,
                                                        1.51986665636164571966e-2,
                                                        5.47593808499534494600e-4,
                                                        1.05075007164441684324e-9};
  constexpr std::array<double, 8> tail_numerator = {6.65790464350110377720e0,  5.46378491116411436990e0,
                                                    1.78482653991729133580e0,  2.96560571828504891230e-1,
                                                    2.65321895265761230930e-2, 1.24266094738807843860e-3,
                                                    2.71155556874348757815e-5, 2.01033439929228813265e-7};
  constexpr std::array<double, 8> tail_denominator = {1.0,
                                                      5.99832206555887937690e-1,
                                                      1.36929880922735805310e-1,
                                                      1.48753612908506148525e-2,
                                                      7.86869131145613259100e-4,
                                                      1.84631831751005468180e-5,
                                                      1.42151175831644588870e-7,
                                                      2.04426310338993978564e-15};
  const double r = sqrt(-logarithm(probability));
  if (r <= 5.0) return horner(middle_numerator, r - 1.6) / horner(middle_denominator, r - 1.6);
  return horner(tail_numerator, r - 5.0) / horner(tail_denominator, r - 5.0);
}

/// Standard normal number from 52 random bits, by inversion of the distribution function (Wichura, algorithm
/// AS 241, PPND16, Applied Statistics 37, 1988). Returns the same bits on every machine: uses only IEEE
/// additions, multiplications, divisions and square roots, even for the logarithm.
LOCKSTEP_HD inline double normal(std::uint32_t high, std::uint32_t low) {
  constexpr std::array<double, 8> central_numerator = {
      3.3871328727963666080e0,  1.3314166789178437745e+2, 1.9715909503065514427e+3, 1.3731693765509461125e+4,
      4.5921953931549871457e+4, 6.7265770927008700853e+4, 3.3430575583588128105e+4, 2.5090809287301226727e+3};
  constexpr std::array<double, 8> central_denominator = {1.0,
                                                         4.2313330701600911252e+1,
                                                         6.8718700749205790830e+2,
                                                         5.3941960214247511077e+3,
                                                         2.1213794301586595867e+4,
                                                         3.9307895800092710610e+4,
                                                         2.8729085735721942674e+4,
                                                         5.2264952788528545610e+3};
  // The middle of one of 2^52 equal intervals is exact in double, never 0 or 1, and symmetric around 1/2.
  const std::uint64_t bits = (std::uint64_t{high} << 20) | (low >> 12);
  const double probability = (static_cast<double>(bits) + 0.5) * 0x1p-52;
  const double q = probability - 0.5;
  if (fabs(q) <= 0.425) {
    const double r = 0.180625 - q * q;
    return q * horner(central_numerator, r) / horner(central_denominator, r);
  }
  return q < 0.0 ? -tail_quantile(probability) : tail_quantile(1.0 - probability);
}

}  // namespace lockstep
