#pragma once

#include <vector>

#include "lockstep/network.h"
#include "lockstep/shape.h"
#include "ops/cpu/convolution/kernels/blocked_conv.h"

namespace lockstep::cpu {

/// Grids of target pixels: pixel (i, j) of a phase reads source pixels (i * step + tap.row, j * step +
/// tap.column) for each of the phase's taps.
struct TapGrids {
  std::vector<ConvTap> taps;  ///< of each phase: kernel rows, then columns, ascending
  std::vector<ConvPhase> phases;
  int step = 1;
  int spacing = 1;  ///< target pixels from grid pixel to grid pixel
  int rows = 0;     ///< of the largest phase
  int columns = 0;
  bool covers_all = true;  ///< false: no tap reaches some target pixels
};

/// A convolution and the shapes of its input and output as stored.
struct ConvShapes {
  Conv2d options;
  Shape input;
  Shape output;
};

/// Shapes of a convolution without neighbours (1 x 1, stride 1) with each image as a single row, as rows make
/// no difference to it. Other convolutions are unchanged.
ConvShapes flattened(ConvShapes shapes);

/// Grids that compute the output from the input: one phase.
TapGrids forward_taps(const ConvShapes& shapes);
/// Grids that compute the gradient of the input from that of the output: a phase for each row and column
/// modulo the stride, without those that have no pixels or no taps.
TapGrids backward_taps(const ConvShapes& shapes);

/// Rows and columns that the taps span.
struct TapBounds {
  int first_row, last_row;
  int first_column, last_column;
};
TapBounds bounds_of(const std::vector<ConvTap>& taps);

/// Planes of `count` channels from `first` on of a group of images, in an array whose groups have `shape`.
/// `masks` may be null.
PixelPlanes planes(const float* data, const std::uint16_t* masks, const Shape& shape, int group, int first,
                   int count);
/// Pixels of the grids in an array whose groups have `shape`, from `channel` on.
PixelGrid target_of(float* data, const Shape& shape, int group, int channel, const TapGrids& grids);

}  // namespace lockstep::cpu
