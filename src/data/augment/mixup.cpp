#include "data/augment/mixup.h"

#include <algorithm>
#include <cmath>

#include "core/elementary.h"
#include "data/augment/draws.h"

namespace lockstep {
namespace {

/// Joehnk's method (1964) for alpha <= 1: u^(1/alpha) and v^(1/alpha), accepted when their sum is at most 1.
/// Both may be too small for a double: their ratio is then taken from the logarithms.
double joehnk(double alpha, Draws& draws) {
  for (;;) {
    const double x = logarithm(draws.uniform()) / alpha;
    const double y = logarithm(draws.uniform()) / alpha;
    const double larger = std::max(x, y);
    const double a = exponential(x - larger);
    const double b = exponential(y - larger);
    if (larger < -1.0 || exponential(larger) * (a + b) <= 1.0) {
      return a / (a + b);
    }
  }
}

/// Gamma(alpha) for alpha >= 1 (Marsaglia, Tsang, "A simple method for generating gamma variables", 2000).
double gamma_number(double alpha, Draws& draws) {
  const double d = alpha - 1.0 / 3.0;
  const double c = 1.0 / std::sqrt(9.0 * d);
  for (;;) {
    const std::uint32_t high = draws.bits();
    const double x = normal(high, draws.bits());
    const double root = 1.0 + c * x;
    const double v = root * root * root;
    if (v > 0.0 && logarithm(draws.uniform()) < 0.5 * x * x + d - d * v + d * logarithm(v)) {
      return d * v;
    }
  }
}

}  // namespace

float mixup_share(double alpha, std::uint64_t seed, std::uint32_t epoch, std::uint32_t number) {
  Draws draws({.seed = seed, .epoch = epoch, .id = number}, Purpose::mixup);
  if (alpha <= 1.0) {
    return static_cast<float>(joehnk(alpha, draws));
  }
  const double a = gamma_number(alpha, draws);
  const double b = gamma_number(alpha, draws);
  return static_cast<float>(a / (a + b));
}

}  // namespace lockstep
