#pragma once

#include "core/host_device.h"
#include "data/augment/draws.h"
#include "lockstep/shape.h"

/// Random numbers of the augmentations that move and blacken pixels, for CPU and GPU alike.
namespace lockstep {

/// Random crop: pixel (row, column) becomes pixel (row + down, column + right), black outside.
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

/// Random flip: whether left and right are swapped.
LOCKSTEP_HD inline bool draw_flip(double probability, const SampleVisit& visit) {
  return Draws(visit, Purpose::flip).uniform() < probability;
}

/// Cutout: the first row and column of the square, which may lie outside.
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

/// All of them for one sample; nothing happens where they are not asked for.
struct PixelPlacement {
  Shift shift;
  Corner cut;
  bool flipped = false;
};

}  // namespace lockstep
