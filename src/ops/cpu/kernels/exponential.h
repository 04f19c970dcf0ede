#pragma once

#include "ops/cpu/kernels/vectors.h"

namespace lockstep::cpu::LOCKSTEP_LEVEL {

/// exp(x) for x <= 0, 0 below -87: x = n ln 2 + r, then the polynomial of Cephes' expf. NaN stays NaN.
HWY_INLINE Vector exponential(Vector x) {
  const Vector low = hn::Set(floats, -87.0F);
  const Mask tiny = hn::Lt(x, low);
  x = hn::IfThenElse(tiny, low, x);
  const Vector shift = hn::Set(floats, 12582912.0F);  // 1.5 * 2^23: rounds to an integer
  const Vector shifted = hn::MulAdd(x, hn::Set(floats, 1.44269504F), shift);
  const Vector n = hn::Sub(shifted, shift);
  Vector r = hn::NegMulAdd(n, hn::Set(floats, 0.693359375F), x);
  r = hn::NegMulAdd(n, hn::Set(floats, -2.12194440e-4F), r);
  Vector p = hn::Set(floats, 1.9875691500e-4F);
  for (const float coefficient : {1.3981999507e-3F, 8.3334519073e-3F, 4.1665795894e-2F, 1.6666665459e-1F,
                                  5.0000001201e-1F, 1.0F, 1.0F}) {
    p = hn::MulAdd(p, r, hn::Set(floats, coefficient));
  }
  const hn::RebindToSigned<Floats> integers;
  const auto bits = hn::Add(hn::ConvertTo(integers, n), hn::Set(integers, 127));
  const Vector power = hn::BitCast(floats, hn::ShiftLeft<23>(bits));
  return hn::IfThenZeroElse(tiny, hn::Mul(p, power));
}

}  // namespace lockstep::cpu::LOCKSTEP_LEVEL
