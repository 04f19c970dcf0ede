#pragma once

#include "ops/cpu/kernels/vectors.h"

namespace lockstep::cpu::LOCKSTEP_LEVEL {

/// Loads blocks of four floats into one vector. Block b begins at first + b * step.
template <class D>
HWY_INLINE hn::Vec<D> load_blocks(D d, const float* first, std::size_t step) {
  if constexpr (hn::MaxLanes(D()) == 4) {
    return hn::LoadU(d, first);
  } else {
    const hn::Half<D> half;
    const std::size_t blocks = hn::MaxLanes(D()) / 8;
    return hn::Combine(d, load_blocks(half, first + blocks * step, step), load_blocks(half, first, step));
  }
}

/// Loads four columns of `width` rows. Lane r of columns[j] is rows[r * step + j].
HWY_INLINE void load_columns(const float* rows, std::size_t step, Vector* columns) {
  using Pairs = hn::Repartition<std::uint64_t, Floats>;
  constexpr Pairs pairs;
  Vector row[4];
  LOCKSTEP_UNROLL for (int i = 0; i < 4; ++i) { row[i] = load_blocks(floats, rows + i * step, 4 * step); }
  const auto lower_a = hn::BitCast(pairs, hn::InterleaveLower(floats, row[0], row[1]));
  const auto lower_b = hn::BitCast(pairs, hn::InterleaveLower(floats, row[2], row[3]));
  const auto upper_a = hn::BitCast(pairs, hn::InterleaveUpper(floats, row[0], row[1]));
  const auto upper_b = hn::BitCast(pairs, hn::InterleaveUpper(floats, row[2], row[3]));
  columns[0] = hn::BitCast(floats, hn::InterleaveLower(pairs, lower_a, lower_b));
  columns[1] = hn::BitCast(floats, hn::InterleaveUpper(pairs, lower_a, lower_b));
  columns[2] = hn::BitCast(floats, hn::InterleaveLower(pairs, upper_a, upper_b));
  columns[3] = hn::BitCast(floats, hn::InterleaveUpper(pairs, upper_a, upper_b));
}

}  // namespace lockstep::cpu::LOCKSTEP_LEVEL
