#include "ops/cpu/kernels/vectors.h"

namespace lockstep::cpu::LOCKSTEP_LEVEL {
namespace {

using Quarter = hn::FixedTag<float, 4>;
constexpr Quarter quarter;
using QuarterVector = hn::Vec<Quarter>;

/// Adds pairs (l, l + 8), then (l, l + 4).
HWY_INLINE QuarterVector fold_to_quarter(const float* pixel) {
  const auto a = hn::Add(hn::Load(quarter, pixel), hn::Load(quarter, pixel + 8));
  const auto b = hn::Add(hn::Load(quarter, pixel + 4), hn::Load(quarter, pixel + 12));
  return hn::Add(a, b);
}

/// Adds pairs (l, l + 2) of two pixels; returns {a, a, b, b}.
HWY_INLINE QuarterVector fold_to_pairs(QuarterVector a, QuarterVector b) {
  return hn::Add(hn::ConcatLowerLower(quarter, b, a), hn::ConcatUpperUpper(quarter, b, a));
}

}  // namespace

void fold_lanes(const float* values, int count, float* sums) {
  int i = 0;
  for (; i + 4 <= count; i += 4, values += pixels(4)) {
    const auto a = fold_to_pairs(fold_to_quarter(values), fold_to_quarter(values + lanes));
    const auto b = fold_to_pairs(fold_to_quarter(values + 2 * lanes), fold_to_quarter(values + 3 * lanes));
    hn::StoreU(hn::Add(hn::ConcatEven(quarter, b, a), hn::ConcatOdd(quarter, b, a)), quarter, sums + i);
  }
  for (; i < count; ++i, values += lanes) {
    const auto a = fold_to_quarter(values);
    const auto pair = fold_to_pairs(a, a);
    sums[i] = hn::GetLane(hn::Add(pair, hn::Shuffle2301(pair)));
  }
}

}  // namespace lockstep::cpu::LOCKSTEP_LEVEL
