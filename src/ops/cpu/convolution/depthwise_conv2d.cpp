#include <algorithm>

#include "ops/cpu/convolution/conv2d.h"
#include "ops/cpu/convolution/conv_taps.h"
#include "ops/cpu/convolution/kernels/depthwise.h"
#include "ops/cpu/kernels/elementwise.h"

namespace lockstep::cpu {
namespace {

/// Maximum size of a band of a channel, a part of the second-level cache: 128 KiB.
constexpr int band_limit = 2048;  // pixels

/// Grids of target pixels in the form that the kernel takes.
struct DepthwiseGrids {
  TapGrids grids;
  TapBounds bounds;
  int band_rows;
  int source_rows;
  int source_columns;
};

/// A depthwise convolution planned for a number of samples.
struct DepthwiseConvLayer {
  const DepthwiseKernels* kernels;
  const ElementwiseKernels* elementwise;
  ConvShapes shapes;
  bool relu;
  DepthwiseGrids forward;
  DepthwiseGrids backward;  ///< no phases if the gradient of the input is not needed

  std::size_t band_offset;
  std::size_t grad_band_offset;
  std::size_t sums_offset;
};

DepthwiseGrids depthwise_grids(TapGrids grids) {
  DepthwiseGrids banded{std::move(grids), {}, 0, 0, 0};
  if (banded.grids.phases.empty()) {
    return banded;
  }
  banded.bounds = bounds_of(banded.grids.taps);
  const int step = banded.grids.step;
  const int tap_rows = banded.bounds.last_row - banded.bounds.first_row + 1;
  banded.source_columns =
      (banded.grids.columns - 1) * step + banded.bounds.last_column - banded.bounds.first_column + 1;
  const int fitting = (band_limit / banded.source_columns - tap_rows) / step + 1;
  banded.band_rows = std::clamp(fitting, 1, banded.grids.rows);
  banded.source_rows = (banded.band_rows - 1) * step + tap_rows;
  return banded;
}

DepthwiseConvLayer depthwise_layer(const OpRequest& request) {
  DepthwiseConvLayer layer{};
  layer.kernels = &depthwise_kernels(request.level);
  layer.elementwise = &elementwise_kernels(request.level);
  layer.shapes = {std::get<Conv2d>(request.node.operation), request.inputs[0], request.node.shape};
  layer.relu = request.node.epilogue.relu;
  layer.forward = depthwise_grids(forward_taps(layer.shapes));
  if (request.input_gradient) {
    layer.backward = depthwise_grids(backward_taps(layer.shapes));
  }
  return layer;
}

/// Task for the channels of `source`, which begin with channel `first`, without its target.
DepthwiseConv task_of(const DepthwiseConvLayer& layer, const DepthwiseGrids& grid, const PixelPlanes& source,
                      int first, const OpMemory& memory) {
  const int kernel = layer.shapes.options.kernel;
  DepthwiseConv task{};
  task.source = source;
  task.step = grid.grids.step;
  task.taps = grid.grids.taps.data();
  task.phases = grid.grids.phases.data();
  task.phase_count = static_cast<int>(grid.grids.phases.size());
  task.filter = kernel * kernel;
  task.weight = memory.parameters[0] + static_cast<std::size_t>(first) * task.filter;
  task.source_rows = grid.source_rows;
  task.source_columns = grid.source_columns;
  task.first_row = grid.bounds.first_row;
  task.first_column = grid.bounds.first_column;
  task.band_rows = grid.band_rows;
  task.target.rows = grid.grids.rows;
  task.target.columns = grid.grids.columns;
  task.band = floats_at(memory.scratch, layer.band_offset);
  return task;
}

void forward(const DepthwiseConvLayer& layer, const OpMemory& memory) {
  const Shape& output = layer.shapes.output;
  for (int group = 0; group < groups_of(memory.samples); ++group) {
    DepthwiseConv task =
        task_of(layer, layer.forward,
                planes(memory.inputs[0], nullptr, layer.shapes.input, group, 0, layer.shapes.input.channels),
                0, memory);
    task.bias = memory.parameters[1];
    task.target = target_of(memory.output, output, group, 0, layer.forward.grids);
    layer.kernels->conv(task);
  }
  if (layer.relu) {
    layer.elementwise->relu(output.size() * groups_of(memory.samples), memory.output, memory.output,
                            masks_of(layer, memory));
  }
}

/// Channels [first, first + count) of a pass.
struct Channels {
  int first, count;
};

/// Bytes of the gradient of the output that both gradients of a channel read while it is in the second-level
/// cache.
constexpr std::size_t grad_limit = std::size_t{512} << 10;

/// Channels whose gradients are computed together.
int channels_at_once(const DepthwiseConvLayer& layer, int groups) {
  const Shape& output = layer.shapes.output;
  const std::size_t channel = sizeof(float) * lanes * output.height * output.width * groups;
  return static_cast<int>(std::clamp<std::size_t>(grad_limit / channel, 1, output.channels));
}

void backward_data(const DepthwiseConvLayer& layer, const OpMemory& memory, Channels channels) {
  const Shape& output = layer.shapes.output;
  for (int group = 0; group < groups_of(memory.samples); ++group) {
    const PixelPlanes grad =
        planes(memory.grad_output, masks_of(layer, memory), output, group, channels.first, channels.count);
    DepthwiseConv task = task_of(layer, layer.backward, grad, channels.first, memory);
    task.target =
        target_of(memory.grad_inputs[0], layer.shapes.input, group, channels.first, layer.backward.grids);
    layer.kernels->conv(task);
  }
}

void backward_weights(const DepthwiseConvLayer& layer, const OpMemory& memory, Channels channels) {
  const auto [first, count] = channels;
  const PixelPlanes source = planes(memory.inputs[0], nullptr, layer.shapes.input, 0, first, count);
  const DepthwiseConv forward = task_of(layer, layer.forward, source, first, memory);
  layer.kernels->weights(
      {.forward = forward,
       .grad = planes(memory.grad_output, masks_of(layer, memory), layer.shapes.output, 0, first, count),
       .groups = groups_of(memory.samples),
       .source_stride = layer.shapes.input.size(),
       .grad_stride = layer.shapes.output.size(),
       .grad_weight = memory.grad_parameters[0] + static_cast<std::size_t>(first) * forward.filter,
       .grad_band = floats_at(memory.scratch, layer.grad_band_offset),
       .sums = floats_at(memory.scratch, layer.sums_offset)});
}

void backward(const DepthwiseConvLayer& layer, const OpMemory& memory) {
  const Shape& output = layer.shapes.output;
  const int groups = groups_of(memory.samples);
  const bool data = memory.grad_inputs[0] != nullptr;
  if (data && !layer.backward.grids.covers_all) {
    std::fill_n(memory.grad_inputs[0], layer.shapes.input.size() * lanes * groups, 0.0F);
  }
  const int at_once = channels_at_once(layer, groups);
  for (int c = 0; c < output.channels; c += at_once) {
    const Channels channels{c, std::min(at_once, output.channels - c)};
    if (data) backward_data(layer, memory, channels);
    backward_weights(layer, memory, channels);
  }
  if (memory.grad_parameters[1] != nullptr) {
    layer.kernels->bias_gradient(
        {.groups = groups,
         .grad = planes(memory.grad_output, masks_of(layer, memory), output, 0, 0, output.channels),
         .grad_bias = memory.grad_parameters[1]});
  }
}

std::size_t band_floats(const DepthwiseGrids& grid) {
  return static_cast<std::size_t>(grid.source_rows) * grid.source_columns * lanes;
}

/// Sets the offsets of the layer; returns the bytes of scratch memory.
std::size_t lay_out_scratch(DepthwiseConvLayer& layer) {
  const std::size_t band = std::max(band_floats(layer.forward), band_floats(layer.backward));
  const std::size_t grad =
      layer.relu ? static_cast<std::size_t>(layer.forward.band_rows) * layer.shapes.output.width * lanes : 0;
  ScratchLayout layout;
  layer.band_offset = layout.add(band);
  layer.grad_band_offset = layout.add(grad);
  layer.sums_offset = layout.add(layer.forward.grids.taps.size() * lanes);
  return layout.bytes();
}

}  // namespace

Op plan_depthwise_conv2d(const OpRequest& request) {
  DepthwiseConvLayer layer = depthwise_layer(request);
  const std::size_t scratch_bytes = lay_out_scratch(layer);
  Op op = op_of(layer);
  op.scratch_bytes = scratch_bytes;
  op.saved_bytes = mask_bytes(layer.relu, layer.shapes.output.size(), request.samples);
  op.backward_reads_inputs = 1;
  return op;
}

}  // namespace lockstep::cpu
