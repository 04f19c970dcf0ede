#include "ops/cpu/convolution/conv2d.h"

#include <algorithm>

#include "ops/cpu/convolution/kernels/winograd.h"
#include "ops/cpu/rounded_weights.h"

namespace lockstep::cpu {
namespace {

/// Minimum number of channels: with fewer, the transforms cost more than they save.
constexpr int min_channels = 16;
/// Minimum average number of outputs per tile. With this number, the algorithm halves the multiplications.
constexpr int min_pixels = 8;
constexpr int tile = 4;
constexpr int positions = 36;

/// A convolution planned for a number of samples, with activations that are stored as `Element`.
template <class Element>
struct WinogradConvLayer {
  const WinogradFunctions<Element>* kernels;
  WinogradShape forward;
  WinogradShape data;  ///< shape of the convolution that computes the input's gradient
  WinogradBlocks forward_blocks;
  WinogradBlocks data_blocks;
  WinogradBlocks weights_blocks;
  bool relu;
  std::size_t scratch_offset;
  RoundedWeights weights;
};

int tiles_of(int height, int width, int groups) {
  return groups * ((height + tile - 1) / tile) * ((width + tile - 1) / tile);
}

/// Shape of the convolution that computes the input's gradient: filters are rotated by 180 degrees, and input
/// and output channels are exchanged.
WinogradShape transposed(const WinogradShape& s) {
  return {.in_channels = s.out_channels,
          .in_height = s.out_height,
          .in_width = s.out_width,
          .out_channels = s.in_channels,
          .out_height = s.in_height,
          .out_width = s.in_width,
          .padding = 2 - s.padding};
}

/// Whether to keep the transformed filters of all channels: if they fit into the outer caches, or if so many
/// runs of tiles use them that repeating the transform would cost more.
bool keeps_filters(const WinogradShape& shape, int tiles) {
  const std::int64_t pairs = std::int64_t{shape.in_channels} * shape.out_channels;
  return pairs <= 128 * 128 || (tiles > 16 && pairs <= 256 * 256);
}

/// Chooses block sizes, based on measurements of the convolutions of ResNet-18 and VGG-16. The transformed
/// inputs of a run of few tiles stay in the second-level cache. If filters are transformed for each run, a
/// run has as many tiles as fit into 16 MB, and all its channels are multiplied at once, for at most 256
/// outputs and 9 MB of filters: inputs, filters and sums of one position then stay in the second-level cache.
/// Runs of fewer than 8 tiles (small images, or more than 910 channels) use small blocks of filters.
WinogradBlocks conv_blocks(const WinogradShape& shape, int groups) {
  constexpr int few_tiles = 8;
  constexpr int filters_at_once = 256 * 256;
  const int tiles = tiles_of(shape.out_height, shape.out_width, groups);
  if (keeps_filters(shape, tiles)) {
    return {.tiles = std::min(tiles, 3), .outputs = 32, .channels = shape.in_channels, .keep_filters = true};
  }
  const int fitting = std::clamp((4 << 20) / (positions * lanes * shape.in_channels), 1, 16);
  const int run = std::min(tiles, fitting);
  if (run < few_tiles) return {.tiles = run, .outputs = 32, .channels = 64, .keep_filters = false};
  const int outputs = std::clamp(filters_at_once / shape.in_channels / 32, 1, 8) * 32;
  return {.tiles = run, .outputs = outputs, .channels = shape.in_channels, .keep_filters = false};
}

/// Chooses block sizes for the weights' gradient. Sums of at most 8 MB are kept from one run of tiles to the
/// next. With a single run, few channels are processed at a time, so that sums stay in the second-level
/// cache.
WinogradBlocks weights_blocks(const WinogradShape& shape, int groups) {
  const int all = tiles_of(shape.out_height, shape.out_width, groups);
  const int tiles = std::min(all, shape.in_channels <= 128 ? 4 : std::max(4096 / shape.in_channels, 1));
  const int fitting = (2 << 20) / (positions * shape.in_channels);
  if (tiles == all) {
    return {.tiles = tiles, .outputs = 32, .channels = 64, .keep_filters = false};
  }
  return {.tiles = tiles,
          .outputs = std::max(fitting / 16 * 16, 16),
          .channels = shape.in_channels,
          .keep_filters = false};
}

template <class Element>
WinogradConvLayer<Element> winograd_layer(const OpRequest& request) {
  const Shape& input = request.inputs[0];
  const Shape& output = request.node.shape;
  const int groups = groups_of(request.samples);
  WinogradConvLayer<Element> layer{};
  layer.kernels = &functions_of<Element>(winograd_kernels(request.level));
  layer.forward = {.in_channels = input.channels,
                   .in_height = input.height,
                   .in_width = input.width,
                   .out_channels = output.channels,
                   .out_height = output.height,
                   .out_width = output.width,
                   .padding = std::get<Conv2d>(request.node.operation).padding};
  layer.data = transposed(layer.forward);
  layer.forward_blocks = conv_blocks(layer.forward, groups);
  layer.data_blocks = conv_blocks(layer.data, groups);
  layer.weights_blocks = weights_blocks(layer.forward, groups);
  layer.relu = request.node.epilogue.relu;
  return layer;
}

template <class Element>
void forward(const WinogradConvLayer<Element>& layer, const NodeMemory<Element>& unrounded) {
  const NodeMemory<Element> memory = with_rounded_weights(layer.weights, unrounded);
  layer.kernels->conv({.shape = layer.forward,
                       .blocks = layer.forward_blocks,
                       .groups = groups_of(memory.samples),
                       .input = memory.inputs[0],
                       .input_masks = nullptr,
                       .weight = memory.parameters[0],
                       .transposed = false,
                       .bias = memory.parameters[1],
                       .output = memory.output,
                       .output_masks = masks_of(layer, memory),
                       .scratch = floats_at(memory.scratch, layer.scratch_offset)});
}

template <class Element>
void backward(const WinogradConvLayer<Element>& layer, const NodeMemory<Element>& unrounded) {
  const NodeMemory<Element> memory = with_rounded_weights(layer.weights, unrounded);
  if (memory.grad_inputs[0] != nullptr) {
    layer.kernels->conv({.shape = layer.data,
                         .blocks = layer.data_blocks,
                         .groups = groups_of(memory.samples),
                         .input = memory.grad_output,
                         .input_masks = masks_of(layer, memory),
                         .weight = memory.parameters[0],
                         .transposed = true,
                         .bias = nullptr,
                         .output = memory.grad_inputs[0],
                         .output_masks = nullptr,
                         .scratch = floats_at(memory.scratch, layer.scratch_offset)});
  }
  layer.kernels->backward_weights({.shape = layer.forward,
                                   .blocks = layer.weights_blocks,
                                   .groups = groups_of(memory.samples),
                                   .input = memory.inputs[0],
                                   .grad_output = memory.grad_output,
                                   .masks = masks_of(layer, memory),
                                   .grad_weight = memory.grad_parameters[0],
                                   .grad_bias = memory.grad_parameters[1],
                                   .scratch = floats_at(memory.scratch, layer.scratch_offset)});
}

template <class Element>
std::size_t lay_out_scratch(const OpRequest& request, WinogradConvLayer<Element>& layer) {
  const WinogradKernels& kernels = winograd_kernels(request.level);
  ScratchLayout layout;
  layer.scratch_offset =
      layout.add(std::max({kernels.conv_scratch(layer.forward, layer.forward_blocks),
                           kernels.conv_scratch(layer.data, layer.data_blocks),
                           kernels.backward_weights_scratch(layer.forward, layer.weights_blocks)}));
  layer.weights = place_rounded_weights(request, layout);
  return layout.bytes();
}

}  // namespace

bool suits_winograd(const OpRequest& request) {
  const auto& options = std::get<Conv2d>(request.node.operation);
  const Shape& output = request.node.shape;
  const int tiles = tiles_of(output.height, output.width, 1);
  return options.kernel == 3 && options.stride == 1 && options.dilation == 1 && options.groups == 1 &&
         options.padding <= 2 && request.node.epilogue.pool <= 1 &&
         request.inputs[0].channels >= min_channels && output.channels >= min_channels &&
         output.height * output.width >= tiles * min_pixels;
}

Op plan_winograd(const OpRequest& request) {
  return plan_as_stored(request, [&]<class Element>(Element) {
    WinogradConvLayer<Element> layer = winograd_layer<Element>(request);
    const std::size_t scratch_bytes = lay_out_scratch(request, layer);
    Op op = op_of<Element>(layer);
    op.scratch_bytes = scratch_bytes;
    op.saved_bytes = layer.relu ? mask_bytes(request.node.shape.size(), request.samples) : 0;
    op.backward_reads_inputs = 1;
    return op;
  });
}

}  // namespace lockstep::cpu
