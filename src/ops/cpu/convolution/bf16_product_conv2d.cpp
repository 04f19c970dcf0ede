#include <algorithm>

#include "ops/cpu/convolution/conv2d.h"
#include "ops/cpu/convolution/conv_taps.h"
#include "ops/cpu/convolution/kernels/bf16_product.h"
#include "ops/cpu/convolution/kernels/depthwise.h"

namespace lockstep::cpu {
namespace {

// Maximum sizes of packed operands in bytes, for second-level caches of 1 MiB or more.
constexpr std::size_t pixels_limit = std::size_t{1024} << 10;  // packed pixels
constexpr std::size_t rows_limit = std::size_t{768} << 10;     // packed rows for the weights' gradient
constexpr std::size_t columns_limit = std::size_t{192} << 10;  // packed columns for the weights' gradient
/// Maximum bytes of packed weights: the size of the second-level cache of processors with AMX.
constexpr std::size_t left_limit = std::size_t{2} << 20;
/// Maximum bytes of sums of the weights' gradient in scratch memory.
constexpr std::size_t sums_limit = std::size_t{4} << 20;
/// Maximum number of steps between loading and storing a tile of sums.
constexpr int steps_limit = 32;

/// A phase of a grid, with its block sizes.
struct ProductPhase : PlacedPhase {
  int pixels_at_once = 0;
  int targets_at_once = 0;  ///< channels whose packed weights are in scratch memory at the same time
};

/// Grids of target pixels.
struct ProductGrids {
  TapGrids grids;
  std::vector<ProductPhase> phases;
};

/// A convolution planned for a number of samples.
struct ProductLayer {
  const Bf16ProductKernels* kernels;
  const DepthwiseKernels* depthwise;
  ConvShapes shapes;
  ProductGrids forward;
  ProductGrids backward;  ///< no phases if the gradient of the input is not needed
  // Gradient of the weights.
  bool sums_in_place;   ///< whether sums are computed in the gradient's memory, which then has whole tiles
  int outputs_at_once;  ///< if not in place: channels whose sums are in scratch memory at the same time
  int steps_at_once;
  int row_tiles_at_once;
  int column_tiles_at_once;
  // Offsets in scratch memory.
  std::size_t left_offset;
  std::size_t right_offset;
  std::size_t sums_offset;
};

int taps_of(const ProductLayer& layer) { return layer.shapes.options.kernel * layer.shapes.options.kernel; }

/// Number of channels, a multiple of 16 and at least 16, whose memory fits into `limit` bytes. `bytes`:
/// memory of 16 channels.
int channels_at_once(int channels, std::size_t bytes, std::size_t limit) {
  const auto tiles = static_cast<int>(std::max<std::size_t>(1, limit / bytes));
  return std::min(rounded_up(channels, tile_size), tiles * tile_size);
}

ProductPhase product_phase(PlacedPhase placed, int sources, int targets, std::size_t tile_bytes) {
  ProductPhase phase{std::move(placed)};
  const auto pixel_bytes = tile_bytes * whole_steps(phase.phase.tap_count * sources);
  const int most = std::max(2, static_cast<int>(pixels_limit / pixel_bytes) / 2 * 2);
  const auto pixels = static_cast<int>(phase.targets.size());
  phase.pixels_at_once = rounded_up(pieces(pixels, pieces(pixels, most)), 2);
  phase.targets_at_once = channels_at_once(targets, pixel_bytes, left_limit);
  return phase;
}

ProductGrids product_grids(TapGrids grids, const Shape& source, const Shape& target, std::size_t tile_bytes) {
  ProductGrids placed{std::move(grids), {}};
  for (const ConvPhase& phase : placed.grids.phases) {
    placed.phases.push_back(product_phase(place(placed.grids, phase, source, target), source.channels,
                                          target.channels, tile_bytes));
  }
  return placed;
}

/// Memory of one pass over a grid, forward or backward.
struct ProductPass {
  const Bfloat16* source;
  Shape source_shape;
  const float* bias;
  Bfloat16* target;
  Shape target_shape;
  std::size_t target_stride;  ///< stride of the weights from one target channel to the next
  std::size_t source_stride;
};

/// Computes target channels [first, first + count) of a phase.
void run_targets(const ProductLayer& layer, const ProductGrids& placed, const ProductPhase& phase,
                 const ProductPass& pass, const NodeMemory<Bfloat16>& memory, int first, int count) {
  const std::size_t target_plane = plane_of(pass.target_shape);
  std::byte* const left = memory.scratch + layer.left_offset;
  layer.kernels->pack_factors({.weight = memory.parameters[0] + first * pass.target_stride,
                               .row_stride = pass.target_stride,
                               .source_stride = pass.source_stride,
                               .rows = count,
                               .sources = pass.source_shape.channels,
                               .taps = placed.grids.taps.data() + phase.phase.first_tap,
                               .tap_count = phase.phase.tap_count,
                               .left = left});
  for (int group = 0; group < groups_of(memory.samples); ++group) {
    const auto images = static_cast<std::size_t>(group) * lanes;
    layer.kernels->multiply_pixels(
        {.source = {.data = pass.source + images * pass.source_shape.size(),
                    .plane = plane_of(pass.source_shape),
                    .channels = pass.source_shape.channels,
                    .places = phase.sources.data(),
                    .taps = phase.phase.tap_count,
                    .pixels = static_cast<int>(phase.targets.size())},
         .left = left,
         .rows = count,
         .bias = pass.bias == nullptr ? nullptr : pass.bias + first,
         .target = pass.target + images * pass.target_shape.size() + first * target_plane * lanes,
         .target_plane = target_plane,
         .targets = phase.targets.data(),
         .pixels_at_once = phase.pixels_at_once,
         .right = memory.scratch + layer.right_offset});
  }
}

void run_pass(const ProductLayer& layer, const ProductGrids& placed, const ProductPass& pass,
              const NodeMemory<Bfloat16>& memory) {
  const int targets = pass.target_shape.channels;
  for (const ProductPhase& phase : placed.phases) {
    for (int t = 0; t < targets; t += phase.targets_at_once) {
      run_targets(layer, placed, phase, pass, memory, t, std::min(phase.targets_at_once, targets - t));
    }
  }
}

void forward(const ProductLayer& layer, const NodeMemory<Bfloat16>& memory) {
  const auto taps = static_cast<std::size_t>(taps_of(layer));
  run_pass(layer, layer.forward,
           {.source = memory.inputs[0],
            .source_shape = layer.shapes.input,
            .bias = memory.parameters[1],
            .target = memory.output,
            .target_shape = layer.shapes.output,
            .target_stride = layer.shapes.input.channels * taps,
            .source_stride = taps},
           memory);
}

void backward_data(const ProductLayer& layer, const NodeMemory<Bfloat16>& memory) {
  if (!layer.backward.grids.covers_all) {
    std::fill_n(memory.grad_inputs[0], layer.shapes.input.size() * lanes * groups_of(memory.samples),
                Bfloat16{});
  }
  const auto taps = static_cast<std::size_t>(taps_of(layer));
  run_pass(layer, layer.backward,
           {.source = memory.grad_output,
            .source_shape = layer.shapes.output,
            .bias = nullptr,
            .target = memory.grad_inputs[0],
            .target_shape = layer.shapes.input,
            .target_stride = taps,
            .source_stride = layer.shapes.input.channels * taps},
           memory);
}

/// Distance between rows of the sums of the weights' gradient, in floats.
std::size_t sums_width(const ProductLayer& layer) {
  return static_cast<std::size_t>(rounded_up(layer.shapes.input.channels * taps_of(layer), tile_size));
}

/// Adds up the gradients of the weights of output channels [first, first + count).
void sum_weights(const ProductLayer& layer, const NodeMemory<Bfloat16>& memory, int first, int count,
                 float* sums) {
  const Shape& input = layer.shapes.input;
  const Shape& output = layer.shapes.output;
  const ProductPhase& phase = layer.forward.phases[0];
  const auto pixels = static_cast<int>(phase.targets.size());
  for (int group = 0; group < groups_of(memory.samples); ++group) {
    const auto images = static_cast<std::size_t>(group) * lanes;
    layer.kernels->multiply_weights(
        {.gradient = {.data = memory.grad_output + images * output.size() + first * plane_of(output) * lanes,
                      .plane = plane_of(output),
                      .channels = count,
                      .places = phase.targets.data(),
                      .taps = 1,
                      .pixels = pixels},
         .source = {.data = memory.inputs[0] + images * input.size(),
                    .plane = plane_of(input),
                    .channels = input.channels,
                    .places = phase.sources.data(),
                    .taps = taps_of(layer),
                    .pixels = pixels},
         .sums = sums,
         .row_stride = sums_width(layer),
         .add = group > 0,
         .steps_at_once = layer.steps_at_once,
         .row_tiles_at_once = layer.row_tiles_at_once,
         .column_tiles_at_once = layer.column_tiles_at_once,
         .left = memory.scratch + layer.left_offset,
         .right = memory.scratch + layer.right_offset});
  }
}

/// Copies sums of `count` output channels, [channel][tap][input channel], to the layout of weights.
void unpack_sums(const ProductLayer& layer, const float* sums, int count, float* weight) {
  const int inputs = layer.shapes.input.channels;
  for (int row = 0; row < count; ++row, sums += sums_width(layer)) {
    for (int column = 0; column < inputs; ++column) {
      for (int tap = 0; tap < taps_of(layer); ++tap) *weight++ = sums[tap * inputs + column];
    }
  }
}

void backward_weights(const ProductLayer& layer, const NodeMemory<Bfloat16>& memory) {
  const int outputs = layer.shapes.output.channels;
  float* weight = memory.grad_parameters[0];
  if (layer.sums_in_place) {
    sum_weights(layer, memory, 0, outputs, weight);
    return;
  }
  float* const sums = floats_at(memory.scratch, layer.sums_offset);
  for (int first = 0; first < outputs; first += layer.outputs_at_once) {
    const int count = std::min(layer.outputs_at_once, outputs - first);
    sum_weights(layer, memory, first, count, sums);
    unpack_sums(layer, sums, count, weight);
    weight += static_cast<std::size_t>(count) * layer.shapes.input.channels * taps_of(layer);
  }
}

void backward(const ProductLayer& layer, const NodeMemory<Bfloat16>& memory) {
  if (memory.grad_inputs[0] != nullptr) backward_data(layer, memory);
  backward_weights(layer, memory);
  sum_bias_gradient(layer.depthwise->bf16, memory, nullptr, layer.shapes.output);
}

/// Bytes of the two packed operands.
struct OperandBytes {
  std::size_t left = 0;
  std::size_t right = 0;
};

OperandBytes larger_of(const OperandBytes& a, const OperandBytes& b) {
  return {std::max(a.left, b.left), std::max(a.right, b.right)};
}

OperandBytes bytes_of_pass(const ProductLayer& layer, const ProductGrids& placed, int sources) {
  OperandBytes bytes;
  for (const ProductPhase& phase : placed.phases) {
    const auto steps = static_cast<std::size_t>(whole_steps(phase.phase.tap_count * sources));
    bytes = larger_of(bytes, {whole_tiles(phase.targets_at_once) * steps * layer.kernels->tile_bytes,
                              phase.pixels_at_once * steps * layer.kernels->tile_bytes});
  }
  return bytes;
}

/// Chooses the block sizes for the weights' gradient; returns the bytes of the packed operands.
OperandBytes choose_blocks(ProductLayer& layer) {
  const auto pixels = static_cast<int>(layer.forward.phases[0].targets.size());
  const int steps = pieces(pixels, step_pixels);
  layer.steps_at_once = pieces(steps, pieces(steps, steps_limit));
  const std::size_t bytes = layer.steps_at_once * layer.kernels->tile_bytes;
  const auto even = [](int tiles, std::size_t most) {
    const int limit = std::max(2, static_cast<int>(most) / 2 * 2);
    return rounded_up(pieces(tiles, pieces(tiles, limit)), 2);
  };
  layer.row_tiles_at_once = even(whole_tiles(layer.shapes.output.channels), rows_limit / bytes);
  layer.column_tiles_at_once =
      even(whole_tiles(layer.shapes.input.channels * taps_of(layer)), columns_limit / bytes);
  return {layer.row_tiles_at_once * bytes, layer.column_tiles_at_once * bytes};
}

/// Sets the layer's block sizes and offsets; returns the bytes of scratch memory.
std::size_t lay_out_scratch(ProductLayer& layer, const OpRequest& request) {
  const Shape& input = layer.shapes.input;
  const Shape& output = layer.shapes.output;
  OperandBytes operands = larger_of(bytes_of_pass(layer, layer.forward, input.channels),
                                    bytes_of_pass(layer, layer.backward, output.channels));
  if (request.training) operands = larger_of(operands, choose_blocks(layer));
  layer.sums_in_place =
      taps_of(layer) == 1 && input.channels % tile_size == 0 && output.channels % tile_size == 0;
  layer.outputs_at_once =
      channels_at_once(output.channels, sums_width(layer) * tile_size * sizeof(float), sums_limit);
  ScratchLayout layout;
  layer.left_offset = layout.add(operands.left / sizeof(float));
  layer.right_offset = layout.add(operands.right / sizeof(float));
  layer.sums_offset =
      layout.add(request.training && !layer.sums_in_place ? layer.outputs_at_once * sums_width(layer) : 0);
  return layout.bytes();
}

}  // namespace

bool suits_bf16_product(const OpRequest& request) {
  const auto& options = std::get<Conv2d>(request.node.operation);
  return request.dtype == DataType::bf16 && options.groups == 1 && !request.node.epilogue.relu &&
         request.node.epilogue.pool == 0 &&
         std::min(request.inputs[0].channels * options.kernel * options.kernel,
                  request.node.shape.channels) >= tile_size;
}

Op plan_bf16_product_conv2d(const OpRequest& request) {
  ProductLayer layer{};
  layer.kernels = &bf16_product_kernels(request.level);
  layer.depthwise = &depthwise_kernels(request.level);
  layer.shapes = {std::get<Conv2d>(request.node.operation), request.inputs[0], request.node.shape};
  layer.forward = product_grids(forward_taps(layer.shapes), layer.shapes.input, layer.shapes.output,
                                layer.kernels->tile_bytes);
  if (request.input_gradient) {
    layer.backward = product_grids(backward_taps(layer.shapes), layer.shapes.output, layer.shapes.input,
                                   layer.kernels->tile_bytes);
  }
  const std::size_t scratch_bytes = lay_out_scratch(layer, request);
  Op op = op_of<Bfloat16>(layer);
  op.takes_bf16 = true;
  op.multiplies_bf16 = true;
  op.scratch_bytes = scratch_bytes;
  op.backward_reads_inputs = 1;
  return op;
}

}  // namespace lockstep::cpu
