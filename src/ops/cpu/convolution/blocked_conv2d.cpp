#include <algorithm>

#include "ops/cpu/convolution/conv2d.h"
#include "ops/cpu/convolution/conv_taps.h"
#include "ops/cpu/convolution/kernels/blocked_conv.h"
#include "ops/cpu/convolution/kernels/depthwise.h"
#include "ops/cpu/kernels/elementwise.h"

namespace lockstep::cpu {
namespace {

/// Maximum size of packed weights, and of sums of the weights' gradients: 8 MiB.
constexpr std::size_t weights_limit = std::size_t{2} << 20;  // floats
/// Maximum number of products that a tile adds up at once, so that its pixels stay in the first-level cache.
constexpr int depth_limit = 256;
// Parts of the second-level cache for packed pixels, and for the weights that are multiplied with them.
constexpr int packed_limit = 3072;          // pixels x products: 192 KiB
constexpr int transposed_limit = 8192;      // pixels x channels: 512 KiB
constexpr int weights_at_once = 64 * 1024;  // floats: 256 KiB

/// Minimum number of pixels that are packed at once.
constexpr int min_packed_pixels = 12;

/// A phase of a grid, with its block sizes.
struct BlockedPhase : PlacedPhase {
  ConvBlocking blocking{};
};

/// Grids of target pixels.
struct BlockedGrids {
  TapGrids grids;
  std::vector<BlockedPhase> phases;
  int targets_at_once = 0;  ///< target channels whose packed weights are in scratch memory at the same time
};

/// A convolution planned for a number of samples.
struct BlockedConvLayer {
  const BlockedConvKernels* kernels;
  const DepthwiseKernels* depthwise;
  const ElementwiseKernels* elementwise;
  ConvShapes shapes;
  bool relu;
  int group_inputs;  ///< input channels of one of the convolution's groups
  int group_outputs;
  std::size_t taps;
  BlockedGrids forward;
  BlockedGrids backward;  ///< no phases if the gradient of the input is not needed
  // Gradient of the weights.
  bool lanes_are_inputs;  ///< whether SIMD lanes hold input channels instead of output channels
  bool sums_in_place;     ///< whether sums have the layout of the weights
  int weight_pixels_at_once;
  int factors_at_once;  ///< channels whose sums are in scratch memory at the same time

  int bands_at_once;  ///< bands of pixels for which both gradients are computed together; 0: separately

  std::size_t packed_offset;  ///< offset of packed weights
  std::size_t sums_offset;    ///< offset of sums of the weights' gradients
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

/// Chooses whether input or output channels are in the SIMD lanes when computing the weights' gradient. The
/// lane channels are transposed, so fewer of them cost less. With inputs in the lanes, the sums may have the
/// layout of the weights and need no copying, which matters more if there are few pixels. With several taps,
/// the lanes must hold output channels.
void choose_lanes(BlockedConvLayer& layer) {
  const Conv2d& options = layer.shapes.options;
  const Shape& output = layer.shapes.output;
  const bool in_place = layer.group_inputs % sum_lanes == 0 && layer.group_outputs % sum_factors == 0;
  const bool few_pixels = 2 * output.height * output.width <= layer.group_outputs;
  layer.lanes_are_inputs = layer.taps == 1 && options.padding == 0 &&
                           (layer.group_inputs < layer.group_outputs || (in_place && few_pixels));
  layer.sums_in_place = layer.lanes_are_inputs && in_place;
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
  layer.taps = layer.forward.grids.taps.size();
  if (request.input_gradient) {
    layer.backward =
        blocked_grids(backward_taps(layer.shapes), layer.shapes.output, layer.shapes.input, options.groups);
  }
  choose_lanes(layer);
  return layer;
}

/// Memory of one pass over a grid, forward or backward.
struct PassMemory {
  const float* source;
  const std::uint16_t* masks;  ///< masks of the source
  Shape source_shape;
  const float* bias;
  float* target;
  Shape target_shape;
  const float* weight;
  std::size_t target_stride;  ///< stride of the weights from one target channel to the next
  std::size_t source_stride;
};

/// Channels [first, first + count) of one of the convolution's groups.
struct ChannelRange {
  int conv_group;
  int first;
  int count;
};

/// Packs the weights of target channels for a phase.
void pack_targets(const BlockedConvLayer& layer, const BlockedGrids& blocked, const BlockedPhase& phase,
                  const PassMemory& pass, const OpMemory& memory, const ChannelRange& targets) {
  const std::size_t filters =
      static_cast<std::size_t>(targets.conv_group) * layer.group_outputs * layer.group_inputs * layer.taps;
  layer.kernels->pack_weights(
      {.weight = pass.weight + filters + static_cast<std::size_t>(targets.first) * pass.target_stride,
       .target_stride = pass.target_stride,
       .source_stride = pass.source_stride,
       .targets = targets.count,
       .sources = pass.source_shape.channels / layer.shapes.options.groups,
       .taps = blocked.grids.taps.data() + phase.phase.first_tap,
       .tap_count = phase.phase.tap_count,
       .packed = floats_at(memory.scratch, layer.packed_offset)});
}

/// Task that computes the target channels whose weights are packed, for one group of images.
BlockedConv conv_task(const BlockedConvLayer& layer, const BlockedPhase& phase, const PassMemory& pass,
                      const OpMemory& memory, const ChannelRange& targets, int group) {
  const int groups = layer.shapes.options.groups;
  const int sources = pass.source_shape.channels / groups;
  const int target = targets.conv_group * (pass.target_shape.channels / groups) + targets.first;
  const std::size_t plane = static_cast<std::size_t>(group) * pass.target_shape.channels + target;
  const std::size_t target_plane = plane_of(pass.target_shape);
  return {.blocking = phase.blocking,
          .source = planes(pass.source, pass.masks, pass.source_shape, group, targets.conv_group * sources,
                           sources),
          .source_places = phase.sources.data(),
          .target_places = phase.targets.data(),
          .pixels = static_cast<int>(phase.targets.size()),
          .pixels_to_come = 0,
          .taps = phase.phase.tap_count,
          .packed = floats_at(memory.scratch, layer.packed_offset),
          .bias = pass.bias == nullptr ? nullptr : pass.bias + target,
          .targets = targets.count,
          .target = pass.target + plane * target_plane * lanes,
          .target_plane = target_plane,
          .scratch = floats_at(memory.scratch, layer.pixels_offset)};
}

/// Computes the target channels for all images.
void run_targets(const BlockedConvLayer& layer, const BlockedGrids& blocked, const PassMemory& pass,
                 const OpMemory& memory, const ChannelRange& targets) {
  for (const BlockedPhase& phase : blocked.phases) {
    pack_targets(layer, blocked, phase, pass, memory, targets);
    for (int group = 0; group < groups_of(memory.samples); ++group) {
      layer.kernels->conv(conv_task(layer, phase, pass, memory, targets, group));
    }
  }
}

void run_pass(const BlockedConvLayer& layer, const BlockedGrids& grids, const PassMemory& pass,
              const OpMemory& memory) {
  const int groups = layer.shapes.options.groups;
  const int targets = pass.target_shape.channels / groups;
  for (int conv_group = 0; conv_group < groups; ++conv_group) {
    for (int t = 0; t < targets; t += grids.targets_at_once) {
      run_targets(layer, grids, pass, memory, {conv_group, t, std::min(grids.targets_at_once, targets - t)});
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

PassMemory backward_memory(const BlockedConvLayer& layer, const OpMemory& memory) {
  return {.source = memory.grad_output,
          .masks = masks_of(layer, memory),
          .source_shape = layer.shapes.output,
          .bias = nullptr,
          .target = memory.grad_inputs[0],
          .target_shape = layer.shapes.input,
          .weight = memory.parameters[0],
          .target_stride = layer.taps,
          .source_stride = layer.group_inputs * layer.taps};
}

void backward_data(const BlockedConvLayer& layer, const OpMemory& memory) {
  if (!layer.backward.grids.covers_all) {
    std::fill_n(memory.grad_inputs[0], layer.shapes.input.size() * lanes * groups_of(memory.samples), 0.0F);
  }
  run_pass(layer, layer.backward, backward_memory(layer, memory), memory);
}

int lane_channels_of(const BlockedConvLayer& layer) {
  return layer.lanes_are_inputs ? layer.group_inputs : layer.group_outputs;
}
int factors_of(const BlockedConvLayer& layer) {
  return layer.lanes_are_inputs ? layer.group_outputs : layer.group_inputs;
}

/// Address of the weights' gradient for factor channels.
float* grad_weight_of(const BlockedConvLayer& layer, const OpMemory& memory, const ChannelRange& factors) {
  const std::size_t output_stride = layer.group_inputs * layer.taps;
  const std::size_t filters =
      static_cast<std::size_t>(factors.conv_group) * layer.group_outputs * output_stride;
  const std::size_t factor_stride = layer.lanes_are_inputs ? output_stride : layer.taps;
  return memory.grad_parameters[0] + filters + static_cast<std::size_t>(factors.first) * factor_stride;
}

/// Task that adds up the products of one group of images for factor channels.
BlockedConvWeights weights_task(const BlockedConvLayer& layer, const OpMemory& memory,
                                const ChannelRange& factors, int group) {
  const bool inputs_in_lanes = layer.lanes_are_inputs;
  const int stride = layer.shapes.options.stride;
  const PixelPlanes input =
      planes(memory.inputs[0], nullptr, layer.shapes.input, group,
             factors.conv_group * layer.group_inputs + (inputs_in_lanes ? 0 : factors.first),
             inputs_in_lanes ? layer.group_inputs : factors.count);
  const PixelPlanes grad =
      planes(memory.grad_output, masks_of(layer, memory), layer.shapes.output, group,
             factors.conv_group * layer.group_outputs + (inputs_in_lanes ? factors.first : 0),
             inputs_in_lanes ? factors.count : layer.group_outputs);
  const Shape& output = layer.shapes.output;
  return {.lane = inputs_in_lanes ? input : grad,
          .factor = inputs_in_lanes ? grad : input,
          .lane_step = inputs_in_lanes ? stride : 1,
          .factor_step = inputs_in_lanes ? 1 : stride,
          .rows = output.height,
          .columns = output.width,
          .first_band = 0,
          .end_band = bands_of(output.height * output.width),
          .prefetch_next_bands = false,
          .pixels_at_once = layer.weight_pixels_at_once,
          .taps = layer.forward.grids.taps.data(),
          .tap_count = static_cast<int>(layer.taps),
          .add = group > 0,
          .sums = layer.sums_in_place ? grad_weight_of(layer, memory, factors)
                                      : floats_at(memory.scratch, layer.sums_offset),
          .scratch = floats_at(memory.scratch, layer.pixels_offset)};
}

/// Writes the weights' gradient for factor channels from the sums, unless the sums are in place.
void unpack_sums(const BlockedConvLayer& layer, const OpMemory& memory, const ChannelRange& factors) {
  if (layer.sums_in_place) return;
  const std::size_t input_stride = layer.taps;
  const std::size_t output_stride = layer.group_inputs * layer.taps;
  layer.kernels->unpack_weight_sums({.sums = floats_at(memory.scratch, layer.sums_offset),
                                     .lanes = lane_channels_of(layer),
                                     .factors = factors.count,
                                     .taps = layer.forward.grids.taps.data(),
                                     .tap_count = static_cast<int>(layer.taps),
                                     .lane_stride = layer.lanes_are_inputs ? input_stride : output_stride,
                                     .factor_stride = layer.lanes_are_inputs ? output_stride : input_stride,
                                     .weight = grad_weight_of(layer, memory, factors)});
}

void backward_weights(const BlockedConvLayer& layer, const OpMemory& memory, const ChannelRange& factors) {
  for (int group = 0; group < groups_of(memory.samples); ++group) {
    layer.kernels->weights(weights_task(layer, memory, factors, group));
  }
  unpack_sums(layer, memory, factors);
}

/// Computes both gradients for a few bands of pixels at a time, so that the bands are read from memory only
/// once.
void backward_by_bands(const BlockedConvLayer& layer, const OpMemory& memory) {
  const BlockedPhase& phase = layer.backward.phases.front();
  const PassMemory pass = backward_memory(layer, memory);
  const ChannelRange inputs{0, 0, layer.group_inputs};
  const ChannelRange factors{0, 0, factors_of(layer)};
  const auto pixels = static_cast<int>(phase.targets.size());
  pack_targets(layer, layer.backward, phase, pass, memory, inputs);
  for (int group = 0; group < groups_of(memory.samples); ++group) {
    BlockedConv conv = conv_task(layer, phase, pass, memory, inputs, group);
    BlockedConvWeights weights = weights_task(layer, memory, factors, group);
    const int bands = weights.end_band;
    weights.prefetch_next_bands = true;
    for (int band = 0; band < bands; band += layer.bands_at_once) {
      weights.first_band = band;
      weights.end_band = std::min(band + layer.bands_at_once, bands);
      weights.add = group > 0 || band > 0;
      const int first = begin_of_band(pixels, band), end = begin_of_band(pixels, weights.end_band);
      conv.source_places = phase.sources.data() + first;
      conv.target_places = phase.targets.data() + first;
      conv.pixels = end - first;
      conv.pixels_to_come = pixels - end;
      layer.kernels->conv(conv);
      layer.kernels->weights(weights);
    }
  }
  unpack_sums(layer, memory, factors);
}

void backward(const BlockedConvLayer& layer, const OpMemory& memory) {
  if (memory.grad_inputs[0] != nullptr && layer.bands_at_once > 0) {
    backward_by_bands(layer, memory);
  } else {
    if (memory.grad_inputs[0] != nullptr) backward_data(layer, memory);
    const int factors = factors_of(layer);
    for (int conv_group = 0; conv_group < layer.shapes.options.groups; ++conv_group) {
      for (int f = 0; f < factors; f += layer.factors_at_once) {
        backward_weights(layer, memory, {conv_group, f, std::min(layer.factors_at_once, factors - f)});
      }
    }
  }
  sum_bias_gradient(*layer.depthwise, memory, masks_of(layer, memory), layer.shapes.output);
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

/// Number of bands for which backward_by_bands computes both gradients at a time; 0 to compute the gradients
/// in separate passes. A common pass pays off if reading the output's gradient takes longer than the products
/// (docs/performance.md), and if the bands' pixels of all channels stay in the second-level cache between the
/// two computations.
int choose_bands_at_once(const BlockedConvLayer& layer) {
  constexpr std::size_t cache_limit = std::size_t{768} << 10;  // bytes, of a cache of 1 MiB or more
  constexpr int few_inputs = 32;
  const Conv2d& options = layer.shapes.options;
  const bool same_pixels =
      reads_no_neighbours(options) && plane_of(layer.shapes.output) == plane_of(layer.shapes.input);
  if (!same_pixels || options.groups > 1 || layer.backward.phases.size() != 1) return 0;
  if (layer.group_inputs > few_inputs || layer.group_outputs <= layer.group_inputs) return 0;
  if (layer.factors_at_once < factors_of(layer)) return 0;
  const std::size_t band =
      sizeof(float) * lanes * band_pixels * static_cast<std::size_t>(layer.group_outputs);
  return static_cast<int>(std::min<std::size_t>(cache_limit / band, weight_pixels / band_pixels));
}

/// Sets the offsets of the layer; returns the bytes of scratch memory.
std::size_t lay_out_scratch(BlockedConvLayer& layer, bool training) {
  const std::size_t packed = std::max(packed_floats(layer.forward, layer.group_inputs),
                                      packed_floats(layer.backward, layer.group_outputs));
  std::size_t sums = 0;
  std::size_t pixels = std::max(pixel_floats(layer.forward), pixel_floats(layer.backward));
  if (training) {
    const std::size_t row = weight_sums_width(lane_channels_of(layer));
    layer.weight_pixels_at_once = transposed_limit / static_cast<int>(row);
    const auto fitting = static_cast<int>(weights_limit / (row * layer.taps));
    layer.factors_at_once = std::min(std::max(fitting / sum_factors, 1) * sum_factors, factors_of(layer));
    if (!layer.sums_in_place) {
      sums = row * rounded_up(layer.factors_at_once * static_cast<int>(layer.taps), lanes);
    }
    pixels = std::max(pixels, layer.kernels->weights_scratch(lane_channels_of(layer)));
    layer.bands_at_once = choose_bands_at_once(layer);
  }
  ScratchLayout layout;
  layer.pixels_offset = layout.add(pixels);
  layer.packed_offset = layout.add(layer.bands_at_once > 0 ? packed : std::max(packed, sums));
  layer.sums_offset = layer.bands_at_once > 0 ? layout.add(sums) : layer.packed_offset;
  return layout.bytes();
}

}  // namespace

Op plan_blocked_conv2d(const OpRequest& request) {
  BlockedConvLayer layer = blocked_layer(request);
  const std::size_t scratch_bytes = lay_out_scratch(layer, request.training);
  Op op = op_of(layer);
  op.scratch_bytes = scratch_bytes;
  op.saved_bytes = layer.relu ? mask_bytes(layer.shapes.output.size(), request.samples) : 0;
  op.backward_reads_inputs = 1;
  return op;
}

}  // namespace lockstep::cpu
