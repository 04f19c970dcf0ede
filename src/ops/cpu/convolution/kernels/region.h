#pragma once

#include "ops/cpu/convolution/kernels/blocked_conv.h"
#include "ops/cpu/kernels/vectors.h"

namespace lockstep::cpu::LOCKSTEP_LEVEL {

/// A rectangle of channels [channel, channel + channels). May extend beyond the planes.
struct Region {
  int channel, channels;
  int row, rows;
  int column, columns;
};

/// Copies a region, with masks applied, to [channel][row][column][16].
void copy_region(const PixelPlanes& planes, const Region& region, float* target);

/// Copies one pixel with its mask applied.
HWY_INLINE void copy_pixel(const PixelPlanes& planes, std::size_t pixel, float* target) {
  LOCKSTEP_UNROLL for (int part = 0; part < parts; ++part) {
    Vector v = hn::Load(floats, planes.data + pixels(pixel) + part * width);
    if (planes.masks != nullptr) {
      v = hn::IfThenElseZero(load_mask(part, planes.masks + pixel), v);
    }
    hn::Store(v, floats, target + part * width);
  }
}

}  // namespace lockstep::cpu::LOCKSTEP_LEVEL
