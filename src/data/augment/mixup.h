#pragma once

#include <cmath>
#include <cstdint>

#include "core/elementary.h"
#include "core/random/normal.h"
#include "data/augment/draws.h"

namespace lockstep {

/// Beta(alpha, alpha) for alpha <= 1 by Joehnk's method (1964): u^(1/alpha) and v^(1/alpha) are accepted if
/// their sum is at most 1. Logarithms preserve the ratio if both numbers are too small for a double.
LOCKSTEP_HD inline double joehnk(double alpha, Draws& draws) {
  for (;;) {
    const double x = logarithm(draws.uniform()) / alpha;
    const double y = logarithm(draws.uniform()) / alpha;
    const double larger = x > y ? x : y;
    const double a = exponential(x - larger);
    const double b = exponential(y - larger);
    if (larger < -1.0 || exponential(larger) * (a + b) <= 1.0) {
      return a / (a + b);
    }
  }
}

/// Gamma(alpha) for alpha >= 1 (Marsaglia, Tsang, "A simple method for generating gamma variables", 2000).
LOCKSTEP_HD inline double gamma_number(double alpha, Draws& draws) {
  const double d = alpha - 1.0 / 3.0;
  const double c = 1.0 / sqrt(9.0 * d);
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

/// Weight of a sample when it is mixed with its partner, the same for all samples of micro-batch `number` of
/// an epoch: Beta(alpha, alpha), alpha > 0 (Zhang et al., "mixup: Beyond empirical risk minimization", 2018).
LOCKSTEP_HD inline float mixup_share(double alpha, std::uint64_t seed, std::uint32_t epoch,
                                     std::uint32_t number) {
  Draws draws({.seed = seed, .epoch = epoch, .id = number}, Purpose::mixup);
  if (alpha <= 1.0) {
    return static_cast<float>(joehnk(alpha, draws));
  }
  const double a = gamma_number(alpha, draws);
  const double b = gamma_number(alpha, draws);
  return static_cast<float>(a / (a + b));
}

}  // namespace lockstep
