#pragma once

#include "core/bfloat16.h"
#include "ops/cpu/kernels/vectors.h"

/// Loads and stores of vectors of floats or bf16. Elements in bf16 are widened when loaded and rounded when
/// stored (to nearest, ties to even; NaN stays NaN).
namespace lockstep::cpu::LOCKSTEP_LEVEL {

HWY_INLINE Vector load(const float* from) { return hn::Load(floats, from); }

HWY_INLINE Vector load(const Bfloat16* from) {
  constexpr hn::Rebind<std::uint32_t, Floats> words;
  constexpr hn::Rebind<std::uint16_t, Floats> halves;
  const auto bits = hn::PromoteTo(words, hn::LoadU(halves, reinterpret_cast<const std::uint16_t*>(from)));
  return hn::BitCast(floats, hn::ShiftLeft<16>(bits));
}

HWY_INLINE void store(Vector v, float* to) { hn::Store(v, floats, to); }

/// Rounds the lanes to bf16, returned in the lower halves of 32-bit lanes.
HWY_INLINE auto round_to_upper(Vector v) {
  constexpr hn::RebindToUnsigned<Floats> words;
  const auto bits = hn::BitCast(words, v);
  const auto upper = hn::ShiftRight<16>(bits);
  const auto even = hn::Add(hn::Set(words, 0x7fff), hn::And(upper, hn::Set(words, 1)));
  const auto rounded = hn::ShiftRight<16>(hn::Add(bits, even));
  return hn::IfThenElse(hn::RebindMask(words, hn::IsNaN(v)), hn::Or(upper, hn::Set(words, 0x40)), rounded);
}

HWY_INLINE void store(Vector v, Bfloat16* to) {
  constexpr hn::Rebind<std::uint16_t, Floats> halves;
  hn::StoreU(hn::TruncateTo(halves, round_to_upper(v)), halves, reinterpret_cast<std::uint16_t*>(to));
}

/// If `stream`, uses a streaming (non-temporal) store, which bypasses the caches; `to` must be aligned to the
/// stored vector. Faster only if the other stores to the same cache line follow immediately. The thread must
/// call hwy::FlushStream() before other threads read.
HWY_INLINE void store(Vector v, float* to, bool stream) {
  if (!stream) return store(v, to);
  hn::Stream(v, floats, to);
}
HWY_INLINE void store(Vector v, Bfloat16* to, bool stream) {
  constexpr hn::Rebind<std::uint16_t, Floats> halves;
  if (!stream) return store(v, to);
  hn::Stream(hn::TruncateTo(halves, round_to_upper(v)), halves, reinterpret_cast<std::uint16_t*>(to));
}

/// Rounds floats to bf16 and widens them again.
HWY_INLINE Vector rounded(Vector v) { return hn::BitCast(floats, hn::ShiftLeft<16>(round_to_upper(v))); }

}  // namespace lockstep::cpu::LOCKSTEP_LEVEL
