#pragma once

#include <cstdint>
#include <vector>

#include "data/augment/placement.h"
#include "lockstep/shape.h"

namespace lockstep {

/// Pixels of an image, [channel][row][column].
struct Planes {
  std::uint8_t* pixels = nullptr;
  Shape shape;
};

// Augmentations that move or blacken pixels, as drawn in `placement`.

/// Shifts the image over a black background: a cut of its original size from the image padded with black.
/// `scratch` is overwritten.
void crop(Planes image, const PixelPlacement& placement, std::vector<std::uint8_t>& scratch);
/// Swaps left and right, if drawn.
void flip(Planes image, const PixelPlacement& placement);
/// Blackens a square of `side` pixels, clipped to the image (DeVries, Taylor, "Improved regularization of
/// convolutional neural networks with cutout", 2017).
void cutout(Planes image, const PixelPlacement& placement, int side);

}  // namespace lockstep
