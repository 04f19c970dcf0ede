#include "core/elementary.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

namespace lockstep {
namespace {

constexpr double ln2_high = 6.93147180369123816490e-01;  // 33 bits: exponent * ln2_high is exact
constexpr double ln2_low = 1.90821492927058770002e-10;

/// c[0] + c[1] x + ... by Horner's rule.
template <std::size_t count>
double horner(const std::array<double, count>& c, double x) {
  double sum = c[count - 1];
  for (std::size_t i = count - 1; i-- > 0;) {
    sum = sum * x + c[i];
  }
  return sum;
}

/// 1 / (first + 2 i)! with alternating signs: Taylor's series of sine / x (first 1) and cosine (first 0) in
/// x * x.
std::array<double, 10> alternating_series(int first) {
  std::array<double, 10> coefficients{};
  double term = 1.0;
  for (int i = 0; i < 10; ++i) {
    coefficients[static_cast<std::size_t>(i)] = term;
    term = -term / (static_cast<double>(first + 2 * i + 1) * static_cast<double>(first + 2 * i + 2));
  }
  return coefficients;
}

/// Of an angle in [-45, 45] degrees.
struct SineAndCosine {
  double sine;
  double cosine;
};
SineAndCosine small_angle(double degrees) {
  const double x = degrees * 0.017453292519943295;
  return {x * horner(alternating_series(1), x * x), horner(alternating_series(0), x * x)};
}

SineAndCosine any_angle(double degrees) {
  const double quarters = std::floor(degrees / 90.0 + 0.5);
  const auto [sine, cosine] = small_angle(degrees - 90.0 * quarters);
  switch (static_cast<int>(quarters) & 3) {
    case 0:
      return {sine, cosine};
    case 1:
      return {cosine, -sine};
    case 2:
      return {-sine, -cosine};
    default:
      return {-cosine, sine};
  }
}

}  // namespace

double logarithm(double x) {
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

double exponential(double x) {
  if (x < -700.0) {
    return 0.0;
  }
  constexpr double ln2_inverse = 1.4426950408889634;
  const double k = std::floor(x * ln2_inverse + 0.5);
  const double r = (x - k * ln2_high) - k * ln2_low;  // |r| <= ln(2) / 2
  double sum = 1.0;
  for (int i = 16; i > 0; --i) {
    sum = 1.0 + sum * r / i;
  }
  return sum * std::bit_cast<double>(static_cast<std::uint64_t>(1023 + static_cast<int>(k)) << 52);
}

double sine_of_degrees(double angle) { return any_angle(angle).sine; }
double cosine_of_degrees(double angle) { return any_angle(angle).cosine; }

}  // namespace lockstep
