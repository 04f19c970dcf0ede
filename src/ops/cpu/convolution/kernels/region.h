#pragma once

#include "ops/cpu/convolution/kernels/blocked_conv.h"
#include "ops/cpu/kernels/storage.h"
#include "ops/cpu/kernels/vectors.h"

namespace lockstep::cpu::LOCKSTEP_LEVEL {

/// A rectangle of pixels in channels [channel, channel + channels). May extend beyond the planes.
struct Region {
  int channel, channels;
  int row, rows;
  int column, columns;
};

/// Copies a region, with masks applied, to [channel][row][column][16].
template <class Element>
void copy_region(const StoredPlanes<Element>& planes, const Region& region, float* target);

/// Copies one pixel, with the pixel's mask applied.
template <class Element>
HWY_INLINE void copy_pixel(const StoredPlanes<Element>& planes, std::size_t pixel, float* target) {
  LOCKSTEP_UNROLL for (int part = 0; part < parts; ++part) {
    Vector v = load(planes.data + pixels(pixel) + part * width);
    if (planes.masks != nullptr) {
      v = hn::IfThenElseZero(load_mask(part, planes.masks + pixel), v);
    }
    hn::Store(v, floats, target + part * width);
  }
}

}  // namespace lockstep::cpu::LOCKSTEP_LEVEL
