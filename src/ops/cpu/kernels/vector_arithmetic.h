#pragma once

#include "ops/cpu/kernels/vectors.h"
#include "ops/elementwise.h"

namespace lockstep::cpu::LOCKSTEP_LEVEL {

/// Vector arithmetic of this instruction set, for ops/elementwise.h.
struct VectorArithmetic {
  using Value = Vector;
  static HWY_INLINE Vector number(float value) { return hn::Set(floats, value); }
  static HWY_INLINE Vector multiply_add(Vector a, Vector b, Vector c) { return hn::MulAdd(a, b, c); }
  static HWY_INLINE Vector negative_multiply_add(Vector a, Vector b, Vector c) {
    return hn::NegMulAdd(a, b, c);
  }
  static HWY_INLINE Vector absolute(Vector a) { return hn::Abs(a); }
  static HWY_INLINE Vector negative(Vector a) { return hn::Neg(a); }
  static HWY_INLINE Mask less(Vector a, Vector b) { return hn::Lt(a, b); }
  static HWY_INLINE Mask above(Vector a, Vector b) { return hn::Gt(a, b); }
  static HWY_INLINE Mask at_least(Vector a, Vector b) { return hn::Ge(a, b); }
  static HWY_INLINE Mask passes(Vector a) { return LOCKSTEP_LEVEL::passes(a); }
  static HWY_INLINE Vector choose(Mask condition, Vector a, Vector b) {
    return hn::IfThenElse(condition, a, b);
  }
  static HWY_INLINE Vector choose_or_zero(Mask condition, Vector a) {
    return hn::IfThenElseZero(condition, a);
  }
  static HWY_INLINE Vector zero_or(Mask condition, Vector a) { return hn::IfThenZeroElse(condition, a); }
  static HWY_INLINE Vector power_of_two(Vector n) {
    const hn::RebindToSigned<Floats> integers;
    const auto bits = hn::Add(hn::ConvertTo(integers, n), hn::Set(integers, 127));
    return hn::BitCast(floats, hn::ShiftLeft<23>(bits));
  }
};

}  // namespace lockstep::cpu::LOCKSTEP_LEVEL
