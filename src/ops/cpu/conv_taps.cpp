#include "ops/cpu/conv_taps.h"

#include <algorithm>

#include "ops/cpu/op.h"

namespace lockstep::cpu {
namespace {

/// Pixels first, first + spacing, ... below size.
int count_of(int size, int first, int spacing) { return (size - first + spacing - 1) / spacing; }

/// The phase of input pixels (row, column) modulo the stride.
TapGrid phase_of(const ConvShapes& shapes, int row, int column) {
  const Conv2d& options = shapes.options;
  TapGrid grid;
  grid.spacing = options.stride;
  grid.first_row = row;
  grid.first_column = column;
  grid.rows = count_of(shapes.input.height, row, options.stride);
  grid.columns = count_of(shapes.input.width, column, options.stride);
  for (int kh = 0; kh < options.kernel; ++kh) {
    for (int kw = 0; kw < options.kernel; ++kw) {
      const int r = row + options.padding - kh * options.dilation;
      const int c = column + options.padding - kw * options.dilation;
      if (r % options.stride == 0 && c % options.stride == 0) {
        grid.taps.push_back({r / options.stride, c / options.stride, kh * options.kernel + kw});
      }
    }
  }
  return grid;
}

}  // namespace

ConvShapes flattened(ConvShapes shapes) {
  const Conv2d& options = shapes.options;
  if (options.kernel == 1 && options.stride == 1 && options.padding == 0 &&
      shapes.input.height == shapes.output.height && shapes.input.width == shapes.output.width) {
    for (Shape* shape : {&shapes.input, &shapes.output}) {
      shape->width *= shape->height;
      shape->height = 1;
    }
  }
  return shapes;
}

TapGrid forward_taps(const ConvShapes& shapes) {
  const Conv2d& options = shapes.options;
  TapGrid grid;
  grid.step = options.stride;
  grid.rows = shapes.output.height;
  grid.columns = shapes.output.width;
  for (int kh = 0; kh < options.kernel; ++kh) {
    for (int kw = 0; kw < options.kernel; ++kw) {
      grid.taps.push_back({kh * options.dilation - options.padding, kw * options.dilation - options.padding,
                           kh * options.kernel + kw});
    }
  }
  return grid;
}

std::vector<TapGrid> backward_taps(const ConvShapes& shapes) {
  std::vector<TapGrid> grids;
  for (int row = 0; row < std::min(shapes.options.stride, shapes.input.height); ++row) {
    for (int column = 0; column < std::min(shapes.options.stride, shapes.input.width); ++column) {
      grids.push_back(phase_of(shapes, row, column));
    }
  }
  return grids;
}

TapBounds bounds_of(const std::vector<ConvTap>& taps) {
  TapBounds bounds{taps[0].row, taps[0].row, taps[0].column, taps[0].column};
  for (const ConvTap& tap : taps) {
    bounds.first_row = std::min(bounds.first_row, tap.row);
    bounds.last_row = std::max(bounds.last_row, tap.row);
    bounds.first_column = std::min(bounds.first_column, tap.column);
    bounds.last_column = std::max(bounds.last_column, tap.column);
  }
  return bounds;
}

PixelPlanes planes(const float* data, const std::uint16_t* masks, const Shape& shape, int group, int first,
                   int count) {
  const std::size_t pixel =
      (static_cast<std::size_t>(group) * shape.channels + first) * shape.height * shape.width;
  return {.data = data + pixel * lanes,
          .masks = masks == nullptr ? nullptr : masks + pixel,
          .channels = count,
          .height = shape.height,
          .width = shape.width};
}

PixelGrid target_of(float* data, const Shape& shape, int group, int channel, const TapGrid& grid) {
  const std::size_t row = static_cast<std::size_t>(shape.width) * lanes;
  const std::size_t plane = row * shape.height;
  return {.data = data + plane * (static_cast<std::size_t>(group) * shape.channels + channel) +
                  row * grid.first_row + static_cast<std::size_t>(grid.first_column) * lanes,
          .plane = plane,
          .row = row * grid.spacing,
          .column = static_cast<std::size_t>(grid.spacing) * lanes,
          .rows = grid.rows,
          .columns = grid.columns};
}

}  // namespace lockstep::cpu
