#pragma once

#include <cstdint>
#include <cstring>

#include "core/host_device.h"

/// Element-wise functions shared by CPU vectors and GPU threads, which compute the same bits. `A` provides a
/// type A::Value with operators + - * / and these functions:
///   number(float)                            constant
///   multiply_add(a, b, c)                    a b + c, rounded once
///   negative_multiply_add(a, b, c)           c - a b, rounded once
///   absolute(a), negative(a)
///   less(a, b), above(a, b), at_least(a, b)  false if a or b is NaN
///   passes(a)                                not (a <= 0): NaN passes
///   choose(condition, a, b)                  a if the condition holds, else b
///   choose_or_zero(condition, a)             a if the condition holds, else +0
///   zero_or(condition, a)                    +0 if the condition holds, else a
///   power_of_two(n)                          2^n for an integer n in [-126, 127]; unspecified for NaN
/// All functions are templates, so that code compiled for one instruction set is never linked into code for
/// another one.
namespace lockstep {

/// exp(x) for x <= 0; returns 0 below -87. Splits x = n ln 2 + r and applies the polynomial of Cephes' expf
/// to r. NaN stays NaN.
template <class A>
LOCKSTEP_HD inline typename A::Value exponential(typename A::Value x) {
  using V = typename A::Value;
  const V low = A::number(-87.0F);
  const auto tiny = A::less(x, low);
  x = A::choose(tiny, low, x);
  const V shift = A::number(12582912.0F);  // 1.5 * 2^23: rounds to an integer
  const V n = A::multiply_add(x, A::number(1.44269504F), shift) - shift;
  V r = A::negative_multiply_add(n, A::number(0.693359375F), x);
  r = A::negative_multiply_add(n, A::number(-2.12194440e-4F), r);
  V p = A::number(1.9875691500e-4F);
  p = A::multiply_add(p, r, A::number(1.3981999507e-3F));
  p = A::multiply_add(p, r, A::number(8.3334519073e-3F));
  p = A::multiply_add(p, r, A::number(4.1665795894e-2F));
  p = A::multiply_add(p, r, A::number(1.6666665459e-1F));
  p = A::multiply_add(p, r, A::number(5.0000001201e-1F));
  p = A::multiply_add(p, r, A::number(1.0F));
  p = A::multiply_add(p, r, A::number(1.0F));
  return A::zero_or(tiny, p * A::power_of_two(n));
}

/// log(x) for finite x >= 1, with x = 2^e m, m in [2/3, 4/3) and log m = 2 atanh((m - 1) / (m + 1)). Returns
/// other arguments, including NaN, unchanged.
template <class A>
LOCKSTEP_HD inline double logarithm_above_one(double x) {
  if (!(x >= 1.0)) return x;
  std::uint64_t bits = 0;
  memcpy(&bits, &x, sizeof bits);
  int exponent = static_cast<int>(bits >> 52) - 1023;
  bits = (bits & 0x000FFFFFFFFFFFFFULL) | 0x3FF0000000000000ULL;
  double m = 0.0;
  memcpy(&m, &bits, sizeof m);
  if (m >= 4.0 / 3.0) {
    m *= 0.5;
    ++exponent;
  }
  const double t = (m - 1.0) / (m + 1.0);
  const double square = t * t;
  double series = 0.0;
  for (int i = 25; i >= 1; i -= 2) series = series * square + 1.0 / i;
  return exponent * 0.6931471805599453 + 2.0 * t * series;
}

/// 1 / (1 + exp(-x)), computed from exp(-|x|) <= 1.
template <class A>
LOCKSTEP_HD inline typename A::Value sigmoid(typename A::Value x) {
  using V = typename A::Value;
  const V zero = A::number(0.0F);
  const V one = A::number(1.0F);
  const V e = exponential<A>(A::negative(A::absolute(x)));
  return A::choose(A::less(x, zero), e, one) / (one + e);
}

// Activations: value(x), and gradient(x, grad), where grad is the gradient of the value.

/// max(x, 0). NaN passes, and so does the gradient at NaN. `gradient` also accepts value(x) in place of x.
template <class A>
struct Relu {
  using V = typename A::Value;
  LOCKSTEP_HD static V value(V x) { return A::choose_or_zero(A::passes(x), x); }
  LOCKSTEP_HD static V gradient(V x, V grad) { return A::choose_or_zero(A::passes(x), grad); }
};

/// min(max(x, 0), 6). `gradient` also accepts value(x) in place of x.
template <class A>
struct Relu6 {
  using V = typename A::Value;
  LOCKSTEP_HD static V value(V x) {
    const V positive = A::choose_or_zero(A::passes(x), x);
    return A::choose(A::above(positive, A::number(6.0F)), A::number(6.0F), positive);
  }
  LOCKSTEP_HD static V gradient(V x, V grad) {
    const V one = A::number(1.0F);
    return grad * A::zero_or(A::at_least(x, A::number(6.0F)), A::choose_or_zero(A::passes(x), one));
  }
};

template <class A>
struct Silu {
  using V = typename A::Value;
  LOCKSTEP_HD static V value(V x) { return x * sigmoid<A>(x); }
  LOCKSTEP_HD static V gradient(V x, V grad) {
    const V s = sigmoid<A>(x);
    const V one = A::number(1.0F);
    return grad * (s * A::multiply_add(x, one - s, one));
  }
};

/// The exact GELU x Phi(x), with the error function of Abramowitz and Stegun 7.1.26, accurate to 1.5e-7.
template <class A>
struct Gelu {
  using V = typename A::Value;
  /// Normal distribution function; sets `bell` to exp(-x^2 / 2).
  LOCKSTEP_HD static V distribution(V x, V& bell) {
    const V zero = A::number(0.0F);
    const V one = A::number(1.0F);
    const V z = A::absolute(x) * A::number(0.707106781F);
    bell = exponential<A>(A::negative(z * z));
    const V t = one / A::multiply_add(z, A::number(0.3275911F), one);
    V p = A::number(1.061405429F);
    p = A::multiply_add(p, t, A::number(-1.453152027F));
    p = A::multiply_add(p, t, A::number(1.421413741F));
    p = A::multiply_add(p, t, A::number(-0.284496736F));
    p = A::multiply_add(p, t, A::number(0.254829592F));
    const V upper = A::number(0.5F) * (p * t * bell);  // 1 - Phi(|x|)
    return A::choose(A::less(x, zero), upper, one - upper);
  }
  LOCKSTEP_HD static V value(V x) {
    V bell;
    const V phi = distribution(x, bell);
    return x * phi;
  }
  LOCKSTEP_HD static V gradient(V x, V grad) {
    V bell;
    const V phi = distribution(x, bell);
    return grad * A::multiply_add(x * bell, A::number(0.398942280F), phi);  // 1 / sqrt(2 pi)
  }
};

}  // namespace lockstep
