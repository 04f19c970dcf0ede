#include <algorithm>
#include <cstring>

#include "ops/cpu/convolution/conv2d.h"
#include "ops/cpu/convolution/conv_taps.h"
#include "ops/cpu/convolution/kernels/blocked_conv.h"
#include "ops/cpu/convolution/kernels/depthwise.h"
#include "ops/cpu/kernels/elementwise.h"

namespace lockstep::cpu {
namespace {

/// Maximum size of packed weights, and of sums of their gradients: 8 MiB.
constexpr std::size_t weights_limit = std::size_t{2} << 20;  // floats
/// Maximum number of products that a tile adds up at once: its pixels stay in the first-level cache.
constexpr int depth_limit = 256;
// Parts of the second-level cache for packed pixels and for the weights used with them.
constexpr int packed_limit = 3072;          // pixels x products: 192 KiB
constexpr int transposed_limit = 8192;      // pixels x channels: 512 KiB
constexpr int weights_at_once = 64 * 1024;  // floats: 256 KiB

/// Minimum number of pixels that are packed at once.
constexpr int min_packed_pixels = 12;

/// A phase of a grid, with the sizes of its blocks.
struct BlockedPhase : PlacedPhase {
  ConvBlocking blocking{};
};

/// Grids of target pixels.
struct BlockedGrids {
  TapGrids grids;
  std::vector<BlockedPhase> phases;
  int targets_at_once = 0;  ///< target channels whose packed weights are in scratch together
  bool stream = false;      ///< whether to write targets by streaming stores
};

/// A convolution planned for a number of samples.
struct BlockedConvLayer {
  const BlockedConvKernels* kernels;
  const DepthwiseKernels* depthwise;
  const ElementwiseKernels* elementwise;
  ConvShapes shapes;
  bool relu;
  int group_inputs;  ///< channels of one of the convolution's groups
  int group_outputs;
  std::size_t taps;
  BlockedGrids forward;
  BlockedGrids backward;  ///< no phases if the gradient of the input is not needed
  // Gradient of the weights.
  bool lanes_are_inputs;  ///< whether lanes hold input channels, not output channels
  int weight_pixels_at_once;
  int factors_at_once;  ///< channels whose sums are in scratch together

  std::size_t weights_offset;
  std::size_t pixels_offset;
};

ConvBlocking choose_blocking(int taps, int sources) {
  ConvBlocking b{};
  b.sources = pieces(sources, pieces(sources, std::max(1, depth_limit / taps)));
  const int depth = b.sources * taps;
  b.pixels = std::clamp(packed_limit / depth / tile_pixels * tile_pixels, min_packed_pixels, packed_pixels);
  b.targets = std::max(1, weights_at_once / (depth * packed_block)) * packed_block;
  return b;
}

/// Maximum number of taps of a phase.
int most_taps(const BlockedGrids& blocked) {
  int taps = 1;
  for (const BlockedPhase& phase : blocked.phases) taps = std::max(taps, phase.phase.tap_count);
  return taps;
}

BlockedGrids blocked_grids(TapGrids grids, const Shape& source, const Shape& target, int groups) {
  BlockedGrids blocked{std::move(grids), {}};
  const int sources = source.channels / groups;
  for (const ConvPhase& phase : blocked.grids.phases) {
    blocked.phases.push_back({place(blocked.grids, phase, source, target)});
    blocked.phases.back().blocking = choose_blocking(phase.tap_count, sources);
  }
  const std::size_t filters = packed_block * static_cast<std::size_t>(sources) * most_taps(blocked);
  const auto blocks = static_cast<int>(std::max<std::size_t>(1, weights_limit / filters));
  blocked.targets_at_once =
      std::min(rounded_up(target.channels / groups, packed_block), blocks * packed_block);
  return blocked;
}

BlockedConvLayer blocked_layer(const OpRequest& request) {
  const auto& options = std::get<Conv2d>(request.node.operation);
  BlockedConvLayer layer{};
  layer.kernels = &blocked_conv_kernels(request.level);
  layer.depthwise = &depthwise_kernels(request.level);
  layer.elementwise = &elementwise_kernels(request.level);
  layer.shapes = flattened({options, request.inputs[0], request.node.shape});
  layer.relu = request.node.epilogue.relu;
  layer.group_inputs = request.inputs[0].channels / options.groups;
  layer.group_outputs = request.node.shape.channels / options.groups;
  layer.forward =
      blocked_grids(forward_taps(layer.shapes), layer.shapes.input, layer.shapes.output, options.groups);
  const bool stored = request.dtype == DataType::fp32;  // else results are read again at once, and rounded
  layer.forward.stream = stored && !layer.relu && streams_output<float>(request);
  layer.taps = layer.forward.grids.taps.size();
  if (request.input_gradient) {
    layer.backward =
        blocked_grids(backward_taps(layer.shapes), layer.shapes.output, layer.shapes.input, options.groups);
    layer.backward.stream = stored && streams_grad_input<float>(request);
  }
  // Transposing fewer channels costs less. Several taps require the input to be the factor.
  layer.lanes_are_inputs =
      layer.taps == 1 && options.padding == 0 && layer.group_inputs < layer.group_outputs;
  return layer;
}

/// Memory of one pass over a grid, forward or backward.
struct PassMemory {
  const float* source;
  const std::uint16_t* masks;  ///< of the source
  Shape source_shape;
  const float* bias;
  float* target;
  Shape target_shape;
  const float* weight;
  std::size_t target_stride;  ///< of the weights, per channel
  std::size_t source_stride;
};

/// Computes target channels [first, first + count) of one of the convolution's groups for all images.
void run_targets(const BlockedConvLayer& layer, const BlockedGrids& blocked, const PassMemory& pass,
                 const OpMemory& memory, int conv_group, int first, int count) {
  const int groups = layer.shapes.options.groups;
  const int sources = pass.source_shape.channels / groups;
  const int target = conv_group * (pass.target_shape.channels / groups) + first;
  const std::size_t filters = static_cast<std::size_t>(conv_group) * layer.group_outputs * layer.group_inputs;
  const std::size_t target_plane = plane_of(pass.target_shape);
  float* const packed = floats_at(memory.scratch, layer.weights_offset);
  for (const BlockedPhase& phase : blocked.phases) {
    layer.kernels->pack_weights(
        {.weight = pass.weight + filters * layer.taps + static_cast<std::size_t>(first) * pass.target_stride,
         .target_stride = pass.target_stride,
         .source_stride = pass.source_stride,
         .targets = count,
         .sources = sources,
         .taps = blocked.grids.taps.data() + phase.phase.first_tap,
         .tap_count = phase.phase.tap_count,
         .packed = packed});
    for (int group = 0; group < groups_of(memory.samples); ++group) {
      const std::size_t plane = static_cast<std::size_t>(group) * pass.target_shape.channels + target;
      layer.kernels->conv(
          {.blocking = phase.blocking,
           .source = planes(pass.source, pass.masks, pass.source_shape, group, conv_group * sources, sources),
           .source_places = phase.sources.data(),
           .target_places = phase.targets.data(),
           .pixels = static_cast<int>(phase.targets.size()),
           .taps = phase.phase.tap_count,
           .packed = packed,
           .bias = pass.bias == nullptr ? nullptr : pass.bias + target,
           .targets = count,
           .target = pass.target + plane * target_plane * lanes,
           .target_plane = target_plane,
           .stream = blocked.stream,
           .scratch = floats_at(memory.scratch, layer.pixels_offset)});
    }
  }
}

void run_pass(const BlockedConvLayer& layer, const BlockedGrids& grids, const PassMemory& pass,
              const OpMemory& memory) {
  const int groups = layer.shapes.options.groups;
  const int targets = pass.target_shape.channels / groups;
  for (int conv_group = 0; conv_group < groups; ++conv_group) {
    for (int t = 0; t < targets; t += grids.targets_at_once) {
      run_targets(layer, grids, pass, memory, conv_group, t, std::min(grids.targets_at_once, targets - t));
    }
  }
}

void forward(const BlockedConvLayer& layer, const OpMemory& memory) {
  run_pass(layer, layer.forward,
           {.source = memory.inputs[0],
            .masks = nullptr,
            .source_shape = layer.shapes.input,
            .bias = memory.parameters[1],
            .target = memory.output,
            .target_shape = layer.shapes.output,
            .weight = memory.parameters[0],
            .target_stride = layer.group_inputs * layer.taps,
            .source_stride = layer.taps},
           memory);
  if (layer.relu) {
    layer.elementwise->relu(layer.shapes.output.size() * groups_of(memory.samples), memory.output,
                            memory.output, masks_of(layer, memory));
  }
}

void backward_data(const BlockedConvLayer& layer, const OpMemory& memory) {
  if (!layer.backward.grids.covers_all) {
    std::fill_n(memory.grad_inputs[0], layer.shapes.input.size() * lanes * groups_of(memory.samples), 0.0F);
  }
  run_pass(layer, layer.backward,
           {.source = memory.grad_output,
            .masks = masks_of(layer, memory),
            .source_shape = layer.shapes.output,
            .bias = nullptr,
            .target = memory.grad_inputs[0],
            .target_shape = layer.shapes.input,
            .weight = memory.parameters[0],
            .target_stride = layer.taps,
            .source_stride = layer.group_inputs * layer.taps},
           memory);
}

/// Computes the gradient of the weights of one of the convolution's groups for factor channels
/// [first, first + count).
void backward_weights(const BlockedConvLayer& layer, const OpMemory& memory, int conv_group, int first,
                      int count) {
  const bool inputs_in_lanes = layer.lanes_are_inputs;
  const int stride = layer.shapes.options.stride;
  const int lane_channels = inputs_in_lanes ? layer.group_inputs : layer.group_outputs;
  const std::size_t input_stride = layer.taps;
  const std::size_t output_stride = layer.group_inputs * layer.taps;
  const std::size_t factor_stride = inputs_in_lanes ? output_stride : input_stride;
  const int taps = static_cast<int>(layer.taps);
  float* sums = floats_at(memory.scratch, layer.weights_offset);
  std::fill_n(sums, weight_sums_width(lane_channels) * rounded_up(count * taps, lanes), 0.0F);
  for (int group = 0; group < groups_of(memory.samples); ++group) {
    const PixelPlanes input = planes(memory.inputs[0], nullptr, layer.shapes.input, group,
                                     conv_group * layer.group_inputs + (inputs_in_lanes ? 0 : first),
                                     inputs_in_lanes ? layer.group_inputs : count);
    const PixelPlanes grad = planes(memory.grad_output, masks_of(layer, memory), layer.shapes.output, group,
                                    conv_group * layer.group_outputs + (inputs_in_lanes ? first : 0),
                                    inputs_in_lanes ? count : layer.group_outputs);
    layer.kernels->weights({.lane = inputs_in_lanes ? input : grad,
                            .factor = inputs_in_lanes ? grad : input,
                            .lane_step = inputs_in_lanes ? stride : 1,
                            .factor_step = inputs_in_lanes ? 1 : stride,
                            .rows = layer.shapes.output.height,
                            .columns = layer.shapes.output.width,
                            .pixels_at_once = layer.weight_pixels_at_once,
                            .taps = layer.forward.grids.taps.data(),
                            .tap_count = taps,
                            .sums = sums,
                            .scratch = floats_at(memory.scratch, layer.pixels_offset)});
  }
  const std::size_t filters = static_cast<std::size_t>(conv_group) * layer.group_outputs * output_stride;
  layer.kernels->unpack_weight_sums(
      {.sums = sums,
       .lanes = lane_channels,
       .factors = count,
       .taps = layer.forward.grids.taps.data(),
       .tap_count = taps,
       .lane_stride = inputs_in_lanes ? input_stride : output_stride,
       .factor_stride = factor_stride,
       .weight = memory.grad_parameters[0] + filters + static_cast<std::size_t>(first) * factor_stride});
}

void backward(const BlockedConvLayer& layer, const OpMemory& memory) {
  if (memory.grad_inputs[0] != nullptr) {
    backward_data(layer, memory);
  }
  const int factors = layer.lanes_are_inputs ? layer.group_outputs : layer.group_inputs;
  for (int conv_group = 0; conv_group < layer.shapes.options.groups; ++conv_group) {
    for (int f = 0; f < factors; f += layer.factors_at_once) {
      backward_weights(layer, memory, conv_group, f, std::min(layer.factors_at_once, factors - f));
    }
  }
  if (memory.grad_parameters[1] != nullptr) {
    layer.depthwise->bias_gradient({.groups = groups_of(memory.samples),
                                    .grad = planes(memory.grad_output, masks_of(layer, memory),
                                                   layer.shapes.output, 0, 0, layer.shapes.output.channels),
                                    .grad_bias = memory.grad_parameters[1]});
  }
}

std::size_t pixel_floats(const BlockedGrids& grid) {
  int most = 0;
  for (const BlockedPhase& phase : grid.phases) {
    most = std::max(most, phase.blocking.pixels * phase.blocking.sources * phase.phase.tap_count);
  }
  return static_cast<std::size_t>(most) * lanes;
}

std::size_t packed_floats(const BlockedGrids& grid, int sources) {
  return static_cast<std::size_t>(grid.targets_at_once) * sources * most_taps(grid);
}

/// Sets the offsets of the layer; returns the bytes of scratch memory.
std::size_t lay_out_scratch(BlockedConvLayer& layer, bool training) {
  std::size_t weights = std::max(packed_floats(layer.forward, layer.group_inputs),
                                 packed_floats(layer.backward, layer.group_outputs));
  std::size_t pixels = std::max(pixel_floats(layer.forward), pixel_floats(layer.backward));
  if (training) {
    const int lane_channels = layer.lanes_are_inputs ? layer.group_inputs : layer.group_outputs;
    const int factors = layer.lanes_are_inputs ? layer.group_outputs : layer.group_inputs;
    const std::size_t row = weight_sums_width(lane_channels);
    layer.weight_pixels_at_once = transposed_limit / static_cast<int>(row);
    layer.factors_at_once =
        static_cast<int>(std::clamp<std::size_t>(weights_limit / (row * layer.taps), 1, factors));
    weights =
        std::max(weights, row * rounded_up(layer.factors_at_once * static_cast<int>(layer.taps), lanes));
    pixels = std::max(pixels, layer.kernels->weights_scratch(lane_channels));
  }
  ScratchLayout layout;
  layer.weights_offset = layout.add(weights);
  layer.pixels_offset = layout.add(pixels);
  return layout.bytes();
}

}  // namespace

Op plan_blocked_conv2d(const OpRequest& request) {
  BlockedConvLayer layer = blocked_layer(request);
  const std::size_t scratch_bytes = lay_out_scratch(layer, request.training);
  Op op = op_of(layer);
  op.scratch_bytes = scratch_bytes;
  op.saved_bytes = mask_bytes(layer.relu, layer.shapes.output.size(), request.samples);
  op.backward_reads_inputs = 1;
  return op;
}

}  // namespace lockstep::cpu
