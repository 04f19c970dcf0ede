#include "optim/exact_math.h"

namespace lockstep {

double cos_pi(double x) {
  if (x > 0.5) return -cos_pi(1.0 - x);
  const double angle = 3.14159265358979323846 * x;
  const double square = angle * angle;
  double sum = 1.0;  // the Taylor series, from its twelfth term: the next one is below 1e-17 at pi / 2
  for (int n = 24; n > 0; n -= 2) sum = 1.0 - sum * square / (n * (n - 1));
  return sum;
}

double integer_power(double base, std::uint64_t exponent) {
  double result = 1.0;
  for (; exponent > 0; exponent /= 2) {
    if (exponent % 2 == 1) result *= base;
    base *= base;
  }
  return result;
}

}  // namespace lockstep
