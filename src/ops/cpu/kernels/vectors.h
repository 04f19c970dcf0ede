#pragma once

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

/// Native vectors of the instruction set that a kernel is compiled for. Only kernels include this.
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
/// Vector registers: AVX2 has 16, AVX-512 and NEON have 32.
constexpr bool many_registers = width != 8;

HWY_INLINE int smaller(int a, int b) { return a < b ? a : b; }
HWY_INLINE int larger(int a, int b) { return a > b ? a : b; }

/// The same pointer, of unknown origin: keeps the compiler from carrying loads over from one step of a loop
/// to the next, for which it would run out of registers and spill.
HWY_INLINE const float* opaque(const float* pointer) {
  asm("" : "+r"(pointer));
  return pointer;
}

/// Floats in `pixels` pixels.
HWY_INLINE std::size_t pixels(std::size_t count) { return count * lanes; }

/// Writes zeros to `count` floats, a multiple of 16.
HWY_INLINE void clear(float* data, std::size_t count) {
  for (std::size_t i = 0; i < count; i += width) {
    hn::Store(hn::Zero(floats), floats, data + i);
  }
}

/// Bits of one part of a pixel. Highway may touch eight bytes, a mask has two: hence the copies, which the
/// compiler removes.
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

/// Lanes in which ReLU lets values and gradients pass: not (v <= 0), so NaN passes.
HWY_INLINE Mask passes(Vector v) { return hn::Not(hn::Le(v, hn::Zero(floats))); }

/// sums[i] = sum of the 16 images of pixel i, in pairs (l, l + 8), (l, l + 4), (l, l + 2), (l, l + 1).
void fold_lanes(const float* values, int count, float* sums);

}  // namespace lockstep::cpu::LOCKSTEP_LEVEL
