#pragma once

#include <vector>

#include "lockstep/network.h"
#include "lockstep/shape.h"
#include "ops/cpu/kernels/blocked_conv.h"

namespace lockstep::cpu {

/// Target pixels whose sums have the same taps: (first_row + i * spacing, first_column + j * spacing) reads
/// source pixels (i * step + tap.row, j * step + tap.column).
struct TapGrid {
  std::vector<ConvTap> taps;  ///< kernel rows, then columns, ascending
  int step = 1;
  int spacing = 1;
  int first_row = 0;
  int first_column = 0;
  int rows = 0;
  int columns = 0;
};

/// A convolution and the shapes of its input and output as stored.
struct ConvShapes {
  Conv2d options;
  Shape input;
  Shape output;
};

/// A convolution that sees no neighbours (1 x 1, stride 1) sees no rows either: its images become one row.
ConvShapes flattened(ConvShapes shapes);

/// Output from input.
TapGrid forward_taps(const ConvShapes& shapes);
/// Gradient of the input from that of the output: a grid for each of stride x stride phases, of those that
/// have pixels. A grid without taps is of pixels that no output reads.
std::vector<TapGrid> backward_taps(const ConvShapes& shapes);

/// Rows and columns that the taps span.
struct TapBounds {
  int first_row, last_row;
  int first_column, last_column;
};
TapBounds bounds_of(const std::vector<ConvTap>& taps);

/// `count` channels from `first` of a group of images in an array whose groups have `shape`. `masks` may be
/// null.
PixelPlanes planes(const float* data, const std::uint16_t* masks, const Shape& shape, int group, int first,
                   int count);
/// The grid's pixels in an array whose groups have `shape`, from `channel` on.
PixelGrid target_of(float* data, const Shape& shape, int group, int channel, const TapGrid& grid);

}  // namespace lockstep::cpu
