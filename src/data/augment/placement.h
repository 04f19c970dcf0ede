#pragma once

#include "core/host_device.h"
#include "data/augment/draws.h"
#include "lockstep/shape.h"

/// Random numbers of the augmentations that move or blacken pixels, for CPU and GPU.
namespace lockstep {

/// Random crop: output pixel (row, column) is input pixel (row + down, column + right), black outside the
/// image.
struct Shift {
  int down = 0;
  int right = 0;
};
LOCKSTEP_HD inline Shift draw_shift(int padding, const SampleVisit& visit) {
  Draws draws(visit, Purpose::crop);
  const int down = draws.below(2 * padding + 1) - padding;
  const int right = draws.below(2 * padding + 1) - padding;
  return {down, right};
}

/// Random flip: whether to swap left and right.
LOCKSTEP_HD inline bool draw_flip(double probability, const SampleVisit& visit) {
  return Draws(visit, Purpose::flip).uniform() < probability;
}

/// Cutout: first row and column of the square, which may lie outside the image.
struct Corner {
  int row = 0;
  int column = 0;
};
LOCKSTEP_HD inline Corner draw_cutout(int side, const Shape& shape, const SampleVisit& visit) {
  Draws draws(visit, Purpose::cutout);
  const int row = draws.below(shape.height) - side / 2;
  const int column = draws.below(shape.width) - side / 2;
  return {row, column};
}

/// Random numbers of one sample. The defaults have no effect.
struct PixelPlacement {
  Shift shift;
  Corner cut;
  bool flipped = false;
};

}  // namespace lockstep
