#include "ops/cpu/convolution/conv_taps.h"

#include <algorithm>

#include "ops/cpu/op.h"

namespace lockstep::cpu {
namespace {

/// Number of pixels among first, first + spacing, ... that are less than size.
int count_of(int size, int first, int spacing) { return (size - first + spacing - 1) / spacing; }

/// Appends the phase of the input pixels whose row and column modulo the stride are (row, column).
void add_phase(const ConvShapes& shapes, int row, int column, TapGrids& grids) {
  const Conv2d& options = shapes.options;
  const auto first = static_cast<int>(grids.taps.size());
  for (int kh = 0; kh < options.kernel; ++kh) {
    for (int kw = 0; kw < options.kernel; ++kw) {
      const int r = row + options.padding - kh * options.dilation;
      const int c = column + options.padding - kw * options.dilation;
      if (r % options.stride == 0 && c % options.stride == 0) {
        grids.taps.push_back({r / options.stride, c / options.stride, kh * options.kernel + kw});
      }
    }
  }
  const int count = static_cast<int>(grids.taps.size()) - first;
  if (count == 0) {
    grids.covers_all = false;
    return;
  }
  const ConvPhase phase{first, count, (static_cast<std::size_t>(row) * shapes.input.width + column) * lanes,
                        count_of(shapes.input.height, row, options.stride),
                        count_of(shapes.input.width, column, options.stride)};
  grids.phases.push_back(phase);
  grids.rows = std::max(grids.rows, phase.rows);
  grids.columns = std::max(grids.columns, phase.columns);
}

}  // namespace

ConvShapes flattened(ConvShapes shapes) {
  const Conv2d& options = shapes.options;
  if (reads_no_neighbours(options) && shapes.input.height == shapes.output.height &&
      shapes.input.width == shapes.output.width) {
    for (Shape* shape : {&shapes.input, &shapes.output}) {
      shape->width *= shape->height;
      shape->height = 1;
    }
  }
  return shapes;
}

TapGrids forward_taps(const ConvShapes& shapes) {
  const Conv2d& options = shapes.options;
  TapGrids grids;
  grids.step = options.stride;
  grids.rows = shapes.output.height;
  grids.columns = shapes.output.width;
  for (int kh = 0; kh < options.kernel; ++kh) {
    for (int kw = 0; kw < options.kernel; ++kw) {
      grids.taps.push_back({kh * options.dilation - options.padding, kw * options.dilation - options.padding,
                            kh * options.kernel + kw});
    }
  }
  grids.phases.push_back({0, static_cast<int>(grids.taps.size()), 0, grids.rows, grids.columns});
  return grids;
}

TapGrids backward_taps(const ConvShapes& shapes) {
  TapGrids grids;
  grids.spacing = shapes.options.stride;
  for (int row = 0; row < std::min(shapes.options.stride, shapes.input.height); ++row) {
    for (int column = 0; column < std::min(shapes.options.stride, shapes.input.width); ++column) {
      add_phase(shapes, row, column, grids);
    }
  }
  return grids;
}

PlacedPhase place(const TapGrids& grids, const ConvPhase& phase, const Shape& source, const Shape& target) {
  PlacedPhase placed{.phase = phase, .sources = {}, .targets = {}};
  const std::size_t pixels = static_cast<std::size_t>(phase.rows) * phase.columns;
  placed.targets.reserve(pixels);
  placed.sources.reserve(pixels * phase.tap_count);
  for (int t = 0; t < phase.tap_count; ++t) {
    const ConvTap& tap = grids.taps[static_cast<std::size_t>(phase.first_tap) + t];
    for (int i = 0; i < phase.rows; ++i) {
      for (int j = 0; j < phase.columns; ++j) {
        const int row = i * grids.step + tap.row;
        const int column = j * grids.step + tap.column;
        const bool inside = row >= 0 && row < source.height && column >= 0 && column < source.width;
        placed.sources.push_back(inside ? row * source.width + column : -1);
      }
    }
  }
  const auto first = static_cast<std::int32_t>(phase.target_offset / lanes);
  for (int i = 0; i < phase.rows; ++i) {
    for (int j = 0; j < phase.columns; ++j) {
      placed.targets.push_back(first + (i * target.width + j) * grids.spacing);
    }
  }
  return placed;
}

}  // namespace lockstep::cpu
