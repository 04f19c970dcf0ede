#pragma once

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

/// Native vectors of the instruction set that a kernel is compiled for. Included by kernel sources only.
#if defined(__clang__)
#define LOCKSTEP_UNROLL _Pragma("clang loop unroll(full)")
#else
#define LOCKSTEP_UNROLL _Pragma("GCC unroll 64")
#endif

namespace lockstep::cpu::LOCKSTEP_LEVEL {

namespace hn = hwy::HWY_NAMESPACE;

constexpr int lanes = 16;  ///< images in a pixel

using Floats = hn::CappedTag<float, lanes>;
using Vector = hn::Vec<Floats>;
using Mask = hn::Mask<Floats>;
constexpr Floats floats;
constexpr int width = static_cast<int>(hn::MaxLanes(Floats()));
constexpr int parts = lanes / width;  ///< vectors in a pixel
/// Whether there are 32 vector registers (AVX-512, NEON) instead of 16 (AVX2).
constexpr bool many_registers = width != 8;

HWY_INLINE int smaller(int a, int b) { return a < b ? a : b; }
HWY_INLINE int larger(int a, int b) { return a > b ? a : b; }

/// Returns `pointer`, but hides its origin from the compiler, which would otherwise keep loaded values for
/// the next iteration of a loop, run out of registers and spill.
HWY_INLINE const float* opaque(const float* pointer) {
  asm("" : "+r"(pointer));
  return pointer;
}

/// Number of elements in `count` pixels.
HWY_INLINE std::size_t pixels(std::size_t count) { return count * lanes; }

/// Sums over planes of more than `pixels_without_runs` pixels are split into runs of `pixels_of_run` pixels,
/// each summed from zero. A running sum of more floats of the same sign would lose precision, because each
/// addition is rounded to the last digit of the sum.
constexpr std::size_t pixels_without_runs = 4096;
constexpr std::size_t pixels_of_run = 1024;

/// End of the run of pixels that begins at `begin`.
HWY_INLINE std::size_t end_of_run(std::size_t plane, std::size_t begin) {
  const bool is_last = plane <= pixels_without_runs || plane - begin <= pixels_of_run;
  return is_last ? plane : begin + pixels_of_run;
}

/// Writes zeros to `count` floats, a multiple of 16.
HWY_INLINE void clear(float* data, std::size_t count) {
  for (std::size_t i = 0; i < count; i += width) {
    hn::Store(hn::Zero(floats), floats, data + i);
  }
}

/// Loads `count` floats, fewer than a vector, and fills the other lanes with zeros. Highway's MaskedLoad
/// would read a whole vector on NEON.
HWY_INLINE Vector load_some(const float* from, int count) {
  HWY_ALIGN float values[lanes] = {};
  for (int i = 0; i < count; ++i) values[i] = from[i];
  return hn::Load(floats, values);
}

/// Stores the bits of one part of a pixel. Highway may access eight bytes, but a mask has only two, so the
/// bits are copied; the compiler removes the copies.
HWY_INLINE void save_mask(Mask mask, int part, std::uint16_t* bits) {
  std::uint8_t piece[8] = {};
  hn::StoreMaskBits(floats, mask, piece);
  if constexpr (width >= 8) {
    hwy::CopyBytes<width / 8>(piece, reinterpret_cast<std::uint8_t*>(bits) + part * width / 8);
  } else {
    const unsigned before = part == 0 ? 0U : *bits;
    *bits = static_cast<std::uint16_t>(before | static_cast<unsigned>(piece[0]) << (part * width));
  }
}

HWY_INLINE Mask load_mask(int part, const std::uint16_t* bits) {
  std::uint8_t piece[8] = {};
  if constexpr (width >= 8) {
    hwy::CopyBytes<width / 8>(reinterpret_cast<const std::uint8_t*>(bits) + part * width / 8, piece);
  } else {
    piece[0] = static_cast<std::uint8_t>((*bits >> (part * width)) & 15U);
  }
  return hn::LoadMaskBits(floats, piece);
}

/// Lanes whose values and gradients pass ReLU: not (v <= 0), so NaN passes.
HWY_INLINE Mask passes(Vector v) { return hn::Not(hn::Le(v, hn::Zero(floats))); }

/// Computes sums[i] = sum of the 16 images of pixel i, in pairs (l, l + 8), (l, l + 4), (l, l + 2), (l, l +
/// 1).
void fold_lanes(const float* values, int count, float* sums);

}  // namespace lockstep::cpu::LOCKSTEP_LEVEL
