#include "ops/cpu/kernels/gather.h"
#include "ops/cpu/kernels/vectors.h"

namespace lockstep::cpu::LOCKSTEP_LEVEL {
namespace {

using Bytes = hn::FixedTag<std::uint8_t, 16>;
constexpr Bytes bytes;

/// Converts one pixel's bytes of 16 images to floats, with the result of the division value / 255: multiplies
/// by the rounded reciprocal and corrects the product by the remainder. A test checks all 256 values.
HWY_INLINE void store_pixel(const std::uint8_t* values, float* output) {
  const hn::Rebind<std::uint8_t, Floats> narrow;
  const hn::RebindToSigned<Floats> integers;
  const Vector divisor = hn::Set(floats, 255.0F);
  const Vector reciprocal = hn::Set(floats, 1.0F / 255.0F);
  LOCKSTEP_UNROLL for (int part = 0; part < lanes; part += width) {
    const Vector v = hn::ConvertTo(floats, hn::PromoteTo(integers, hn::LoadU(narrow, values + part)));
    const Vector quotient = hn::Mul(v, reciprocal);
    const Vector remainder = hn::NegMulAdd(quotient, divisor, v);
    hn::Store(hn::MulAdd(remainder, reciprocal, quotient), floats, output + part);
  }
}

/// Transposes 16 x 16 bytes, by interleaving row i with row i + 8 in four rounds.
HWY_INLINE void transpose(std::uint8_t* block) {
  LOCKSTEP_UNROLL for (int round = 0; round < 4; ++round) {
    hn::Vec<Bytes> row[16];
    LOCKSTEP_UNROLL for (int i = 0; i < 16; ++i) { row[i] = hn::Load(bytes, block + 16 * i); }
    LOCKSTEP_UNROLL for (int i = 0; i < 8; ++i) {
      hn::Store(hn::InterleaveLower(bytes, row[i], row[i + 8]), bytes, block + 32 * i);
      hn::Store(hn::InterleaveUpper(bytes, row[i], row[i + 8]), bytes, block + 32 * i + 16);
    }
  }
}

}  // namespace

void gather_row(const std::uint8_t* const* images, int columns, float* output) {
  for (int q = 0; q < columns; q += 16) {
    const int count = smaller(16, columns - q);
    alignas(64) std::uint8_t block[16 * 16] = {};
    for (int image = 0; image < lanes; ++image) {
      if (images[image] == nullptr) {
        continue;
      }
      if (count == 16) {
        hn::Store(hn::LoadU(bytes, images[image] + q), bytes, block + 16 * image);
      } else {
        for (int i = 0; i < count; ++i) {
          block[16 * image + i] = images[image][q + i];
        }
      }
    }
    transpose(block);
    for (int i = 0; i < count; ++i) {
      store_pixel(block + 16 * i, output + pixels(q + i));
    }
  }
}

void normalize(std::size_t count, int samples, float mean, float deviation, float* values) {
  const Vector subtract = hn::Set(floats, mean);
  const Vector divide = hn::Set(floats, deviation);
  for (float* pixel = values; pixel < values + pixels(count); pixel += lanes) {
    LOCKSTEP_UNROLL for (int part = 0; part < lanes; part += width) {
      const Mask present =
          hn::FirstN(floats, static_cast<std::size_t>(smaller(width, larger(0, samples - part))));
      const Vector v = hn::Load(floats, pixel + part);
      hn::Store(hn::IfThenElseZero(present, hn::Div(hn::Sub(v, subtract), divide)), floats, pixel + part);
    }
  }
}

void blend(std::size_t count, const float* shares, const float* others, float* values) {
  const Vector one = hn::Set(floats, 1.0F);
  for (std::size_t i = 0; i < pixels(count); i += lanes) {
    LOCKSTEP_UNROLL for (int part = 0; part < lanes; part += width) {
      const Vector share = hn::LoadU(floats, shares + part);
      const Vector rest = hn::Mul(hn::Sub(one, share), hn::Load(floats, others + i + part));
      hn::Store(hn::MulAdd(share, hn::Load(floats, values + i + part), rest), floats, values + i + part);
    }
  }
}

const GatherKernels gather_kernels{.gather_row = gather_row, .normalize = normalize, .blend = blend};

}  // namespace lockstep::cpu::LOCKSTEP_LEVEL
