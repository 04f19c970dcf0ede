#pragma once

namespace lockstep {

/// Random numbers of the augmentations that move or blacken the pixels of one sample, for CPU and GPU. The
/// defaults have no effect.
struct PixelPlacement {
  /// Random crop: output pixel (row, column) is input pixel (row + down, column + right), black outside the
  /// image.
  int down = 0, right = 0;
  int cut_row = 0, cut_column = 0;  ///< cutout: first pixel of the square, which may lie outside the image
  bool flipped = false;             ///< random flip: whether left and right are swapped
};

}  // namespace lockstep
