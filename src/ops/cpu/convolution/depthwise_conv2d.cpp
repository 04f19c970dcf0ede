#include <algorithm>

#include "ops/cpu/convolution/conv2d.h"
#include "ops/cpu/convolution/conv_taps.h"
#include "ops/cpu/convolution/kernels/depthwise.h"
#include "ops/cpu/kernels/elementwise.h"
#include "ops/cpu/rounded_weights.h"

namespace lockstep::cpu {
namespace {

/// Maximum size of a band of a channel: 128 KiB, a part of the second-level cache.
constexpr int band_limit = 2048;  // pixels

/// Grids of target pixels, with the sizes that the kernel needs.
struct DepthwiseGrids {
  TapGrids grids;
  int first_row = 0;  ///< smallest row of the taps
  int first_column = 0;
  int band_rows = 0;
  int source_rows = 0;
  int source_columns = 0;
  bool stream = false;  ///< whether to write target pixels by streaming stores
};

/// A depthwise convolution planned for a number of samples, with activations that are stored as `Element`.
template <class Element>
struct DepthwiseConvLayer {
  const DepthwiseFunctions<Element>* kernels;
  const ElementwiseFunctions<Element>* elementwise;
  ConvShapes shapes;
  bool relu;
  DepthwiseGrids forward;
  DepthwiseGrids backward;  ///< no phases if the gradient of the input is not needed

  std::size_t band_offset;
  std::size_t grad_band_offset;
  std::size_t sums_offset;
  RoundedWeights weights;
};

DepthwiseGrids depthwise_grids(TapGrids grids) {
  DepthwiseGrids banded{.grids = std::move(grids)};
  if (banded.grids.phases.empty()) {
    return banded;
  }
  const auto rows = std::ranges::minmax(banded.grids.taps, {}, &ConvTap::row);
  const auto columns = std::ranges::minmax(banded.grids.taps, {}, &ConvTap::column);
  banded.first_row = rows.min.row;
  banded.first_column = columns.min.column;
  const int step = banded.grids.step;
  const int tap_rows = rows.max.row - rows.min.row + 1;
  banded.source_columns = (banded.grids.columns - 1) * step + columns.max.column - columns.min.column + 1;
  const int fitting = (band_limit / banded.source_columns - tap_rows) / step + 1;
  banded.band_rows = std::clamp(fitting, 1, banded.grids.rows);
  banded.source_rows = (banded.band_rows - 1) * step + tap_rows;
  return banded;
}

template <class Element>
DepthwiseConvLayer<Element> depthwise_layer(const OpRequest& request) {
  DepthwiseConvLayer<Element> layer{};
  layer.kernels = &functions_of<Element>(depthwise_kernels(request.level));
  layer.elementwise = &functions_of<Element>(elementwise_kernels(request.level));
  layer.shapes = {std::get<Conv2d>(request.node.operation), request.inputs[0], request.node.shape};
  layer.relu = request.node.epilogue.relu;
  layer.forward = depthwise_grids(forward_taps(layer.shapes));
  layer.forward.stream = !layer.relu && streams_output<Element>(request);
  if (request.input_gradient) {
    layer.backward = depthwise_grids(backward_taps(layer.shapes));
    // A pixel of bf16 is half a cache line: with a stride, only half of each cache line would be written.
    const bool whole_lines = layer.shapes.options.stride == 1 || std::is_same_v<Element, float>;
    layer.backward.stream = whole_lines && streams_grad_input<Element>(request);
  }
  return layer;
}

/// Task for the channels of `source`, the first of which is channel `first`. Does not set the target.
template <class Element>
DepthwiseConv<Element> task_of(const DepthwiseConvLayer<Element>& layer, const DepthwiseGrids& grid,
                               const StoredPlanes<Element>& source, int first,
                               const NodeMemory<Element>& memory) {
  const int kernel = layer.shapes.options.kernel;
  DepthwiseConv<Element> task{};
  task.source = source;
  task.step = grid.grids.step;
  task.taps = grid.grids.taps.data();
  task.phases = grid.grids.phases.data();
  task.phase_count = static_cast<int>(grid.grids.phases.size());
  task.filter = kernel * kernel;
  task.weight = memory.parameters[0] + static_cast<std::size_t>(first) * task.filter;
  task.source_rows = grid.source_rows;
  task.source_columns = grid.source_columns;
  task.first_row = grid.first_row;
  task.first_column = grid.first_column;
  task.band_rows = grid.band_rows;
  task.target.rows = grid.grids.rows;
  task.target.columns = grid.grids.columns;
  task.band = floats_at(memory.scratch, layer.band_offset);
  return task;
}

template <class Element>
void forward(const DepthwiseConvLayer<Element>& layer, const NodeMemory<Element>& unrounded) {
  const NodeMemory<Element> memory = with_rounded_weights(layer.weights, unrounded);
  const Shape& output = layer.shapes.output;
  for (int group = 0; group < groups_of(memory.samples); ++group) {
    DepthwiseConv<Element> task =
        task_of(layer, layer.forward,
                planes(memory.inputs[0], nullptr, layer.shapes.input, group, 0, layer.shapes.input.channels),
                0, memory);
    task.bias = memory.parameters[1];
    task.target = target_of(memory.output, output, group, 0, layer.forward.grids, layer.forward.stream);
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

/// Maximum bytes of the output's gradient that are processed at once, so that the computations of both
/// gradients read them from the second-level cache.
constexpr std::size_t grad_limit = std::size_t{512} << 10;

/// Number of channels whose gradients are computed together.
template <class Element>
int channels_at_once(const DepthwiseConvLayer<Element>& layer, int groups) {
  const Shape& output = layer.shapes.output;
  const std::size_t channel = sizeof(Element) * lanes * output.height * output.width * groups;
  return static_cast<int>(std::clamp<std::size_t>(grad_limit / channel, 1, output.channels));
}

template <class Element>
void backward_data(const DepthwiseConvLayer<Element>& layer, const NodeMemory<Element>& memory,
                   Channels channels) {
  const Shape& output = layer.shapes.output;
  for (int group = 0; group < groups_of(memory.samples); ++group) {
    const StoredPlanes<Element> grad =
        planes(memory.grad_output, masks_of(layer, memory), output, group, channels.first, channels.count);
    DepthwiseConv<Element> task = task_of(layer, layer.backward, grad, channels.first, memory);
    task.target = target_of(memory.grad_inputs[0], layer.shapes.input, group, channels.first,
                            layer.backward.grids, layer.backward.stream);
    layer.kernels->conv(task);
  }
}

template <class Element>
void backward_weights(const DepthwiseConvLayer<Element>& layer, const NodeMemory<Element>& memory,
                      Channels channels) {
  const auto [first, count] = channels;
  const StoredPlanes<Element> source = planes(memory.inputs[0], nullptr, layer.shapes.input, 0, first, count);
  const DepthwiseConv<Element> forward = task_of(layer, layer.forward, source, first, memory);
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

template <class Element>
void backward(const DepthwiseConvLayer<Element>& layer, const NodeMemory<Element>& unrounded) {
  const NodeMemory<Element> memory = with_rounded_weights(layer.weights, unrounded);
  const Shape& output = layer.shapes.output;
  const int groups = groups_of(memory.samples);
  const bool data = memory.grad_inputs[0] != nullptr;
  if (data && !layer.backward.grids.covers_all) {
    std::fill_n(memory.grad_inputs[0], layer.shapes.input.size() * lanes * groups, Element{});
  }
  const int at_once = channels_at_once(layer, groups);
  for (int c = 0; c < output.channels; c += at_once) {
    const Channels channels{c, std::min(at_once, output.channels - c)};
    if (data) backward_data(layer, memory, channels);
    backward_weights(layer, memory, channels);
  }
  sum_bias_gradient(*layer.kernels, memory, masks_of(layer, memory), output);
}

std::size_t band_floats(const DepthwiseGrids& grid) {
  return static_cast<std::size_t>(grid.source_rows) * grid.source_columns * lanes;
}

/// Sets the offsets of the layer; returns the bytes of scratch memory.
template <class Element>
std::size_t lay_out_scratch(const OpRequest& request, DepthwiseConvLayer<Element>& layer) {
  const std::size_t band = std::max(band_floats(layer.forward), band_floats(layer.backward));
  const bool copies_gradient = layer.relu || !std::is_same_v<Element, float>;
  const std::size_t grad =
      copies_gradient ? static_cast<std::size_t>(layer.forward.band_rows) * layer.shapes.output.width * lanes
                      : 0;
  ScratchLayout layout;
  layer.band_offset = layout.add(band);
  layer.grad_band_offset = layout.add(grad);
  layer.sums_offset = layout.add(layer.forward.grids.taps.size() * lanes);
  layer.weights = place_rounded_weights(request, layout);
  return layout.bytes();
}

}  // namespace

Op plan_depthwise_conv2d(const OpRequest& request) {
  return plan_as_stored(request, [&]<class Element>(Element) {
    DepthwiseConvLayer<Element> layer = depthwise_layer<Element>(request);
    const std::size_t scratch_bytes = lay_out_scratch(request, layer);
    Op op = op_of<Element>(layer);
    op.scratch_bytes = scratch_bytes;
    op.saved_bytes = layer.relu ? mask_bytes(layer.shapes.output.size(), request.samples) : 0;
    op.backward_reads_inputs = 1;
    return op;
  });
}

}  // namespace lockstep::cpu
