#pragma once

#include <cstdint>
#include <vector>

#include "lockstep/shape.h"

namespace lockstep {

/// Pixels of an image, [channel][row][column].
struct Planes {
  std::uint8_t* pixels = nullptr;
  Shape shape;
};

/// Random parameters, for one sample, of the augmentations that move or blacken pixels (CPU and GPU). The
/// defaults have no effect.
struct PixelPlacement {
  /// Random crop: output pixel (row, column) is input pixel (row + down, column + right), black outside the
  /// image.
  int down = 0, right = 0;
  int cut_row = 0, cut_column = 0;  ///< cutout: first pixel of the square, which may lie outside the image
  bool flipped = false;             ///< random flip: whether left and right are swapped
};

// Augmentations that move or blacken pixels, with the parameters in `placement`.

/// Shifts the image over a black background, like cropping the original size from the image padded with
/// black. `scratch` is overwritten.
void crop(Planes image, const PixelPlacement& placement, std::vector<std::uint8_t>& scratch);
/// Swaps left and right if `placement.flipped`.
void flip(Planes image, const PixelPlacement& placement);
/// Blackens a square of `side` pixels, clipped to the image (DeVries, Taylor, "Improved regularization of
/// convolutional neural networks with cutout", 2017).
void cutout(Planes image, const PixelPlacement& placement, int side);

}  // namespace lockstep
