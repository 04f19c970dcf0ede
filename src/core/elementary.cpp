#include "core/elementary.h"

#include <array>
#include <cmath>

namespace lockstep {
namespace {

/// Taylor coefficients, in powers of x * x, of sine(x) / x (`first` 1) or cosine(x) (`first` 0): 1 / (first +
/// 2 i)! with alternating signs.
std::array<double, 10> alternating_series(int first) {
  std::array<double, 10> coefficients{};
  double term = 1.0;
  for (int i = 0; i < 10; ++i) {
    coefficients[static_cast<std::size_t>(i)] = term;
    term = -term / (static_cast<double>(first + 2 * i + 1) * static_cast<double>(first + 2 * i + 2));
  }
  return coefficients;
}

struct SineAndCosine {
  double sine;
  double cosine;
};

/// Sine and cosine of `degrees` in [-45, 45].
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

double sine_of_degrees(double angle) { return any_angle(angle).sine; }
double cosine_of_degrees(double angle) { return any_angle(angle).cosine; }

}  // namespace lockstep
