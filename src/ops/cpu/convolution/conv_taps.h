#pragma once

#include <cstdint>
#include <vector>

#include "lockstep/network.h"
#include "lockstep/shape.h"
#include "ops/cpu/convolution/kernels/blocked_conv.h"
#include "ops/cpu/convolution/kernels/depthwise.h"
#include "ops/cpu/op.h"

namespace lockstep::cpu {

/// Grids of target pixels. Pixel (i, j) of a phase reads source pixels (i * step + tap.row, j * step +
/// tap.column) for each tap of the phase.
struct TapGrids {
  std::vector<ConvTap> taps;  ///< phase by phase; within a phase, kernel rows, then columns, ascending
  std::vector<ConvPhase> phases;
  int step = 1;
  int spacing = 1;         ///< distance between adjacent grid pixels in the target
  int rows = 0;            ///< maximum over the phases
  int columns = 0;         ///< maximum over the phases
  bool covers_all = true;  ///< whether taps reach all target pixels
};

/// A convolution and the shapes of its input and output as stored.
struct ConvShapes {
  Conv2d options;
  Shape input;
  Shape output;
};

/// Whether each output pixel depends only on the input pixel at the same position: 1 x 1, stride 1, no
/// padding.
constexpr bool reads_no_neighbours(const Conv2d& options) {
  return options.kernel == 1 && options.stride == 1 && options.padding == 0;
}
/// Flattens images to one row if the convolution reads no neighbours.
ConvShapes flattened(ConvShapes shapes);

/// Grid of the output pixels, in one phase.
TapGrids forward_taps(const ConvShapes& shapes);
/// Grids of the input's gradient: one phase for each row and column modulo the stride, omitting phases
/// without pixels or taps.
TapGrids backward_taps(const ConvShapes& shapes);

/// A phase, with the positions of its pixels in planes of the source and of the target.
struct PlacedPhase {
  ConvPhase phase;
  std::vector<std::int32_t> sources;  ///< [tap][pixel]; -1: outside the plane
  std::vector<std::int32_t> targets;  ///< [pixel]
};
PlacedPhase place(const TapGrids& grids, const ConvPhase& phase, const Shape& source, const Shape& target);

/// Number of pixels of a channel.
inline std::size_t plane_of(const Shape& shape) {
  return static_cast<std::size_t>(shape.height) * shape.width;
}

/// Channels [first, first + count) of group `group` in an array whose images have shape `shape`. `masks` may
/// be null.
template <class Element>
StoredPlanes<Element> planes(const Element* data, const std::uint16_t* masks, const Shape& shape, int group,
                             int first, int count) {
  const std::size_t pixel =
      (static_cast<std::size_t>(group) * shape.channels + first) * shape.height * shape.width;
  return {.data = data + pixel * lanes,
          .masks = masks == nullptr ? nullptr : masks + pixel,
          .channels = count,
          .height = shape.height,
          .width = shape.width};
}

/// Computes the gradient of the bias unless its address is null. `masks`: masks of the output's gradient; may
/// be null.
template <class Element>
void sum_bias_gradient(const DepthwiseFunctions<Element>& kernels, const NodeMemory<Element>& memory,
                       const std::uint16_t* masks, const Shape& output) {
  if (memory.grad_parameters[1] == nullptr) return;
  kernels.bias_gradient({.groups = groups_of(memory.samples),
                         .grad = planes(memory.grad_output, masks, output, 0, 0, output.channels),
                         .grad_bias = memory.grad_parameters[1]});
}

/// Pixels of the grids in an array whose images have shape `shape`, from channel `channel` of group `group`
/// on.
template <class Element>
StoredGrid<Element> target_of(Element* data, const Shape& shape, int group, int channel,
                              const TapGrids& grids, bool stream) {
  const std::size_t row = static_cast<std::size_t>(shape.width) * lanes;
  const std::size_t plane = row * shape.height;
  return {.data = data + plane * (static_cast<std::size_t>(group) * shape.channels + channel),
          .plane = plane,
          .row = row * grids.spacing,
          .column = static_cast<std::size_t>(grids.spacing) * lanes,
          .rows = grids.rows,
          .columns = grids.columns,
          .stream = stream};
}

}  // namespace lockstep::cpu
