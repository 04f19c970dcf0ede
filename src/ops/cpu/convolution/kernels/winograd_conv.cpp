#include "ops/cpu/convolution/kernels/winograd.h"
#include "ops/cpu/convolution/kernels/winograd_filters.h"
#include "ops/cpu/convolution/kernels/winograd_tiles.h"

namespace lockstep::cpu::LOCKSTEP_LEVEL {
namespace {

using namespace winograd;

/// Number of input vectors in a register block.
constexpr int vector_block = 3;

/// Computes sums[o][i] = (add ? sums[o][i] : 0) + sum over c of filters[c][o] inputs[c][i] for one position.
struct Products {
  const float* filters;  ///< [channels][output_block]
  const float* inputs;   ///< [channels][step]
  float* sums;           ///< [output_block][step]
  std::size_t step;
  int channels;
  bool add;  ///< whether to add to the sums of earlier channels
};

/// Multiplies VB vectors for output_block output channels in registers; channels ascending.
template <int VB>
HWY_INLINE void multiply_block(const Products& task) {
  Vector sum[output_block][VB];
  LOCKSTEP_UNROLL for (int o = 0; o < output_block; ++o) {
    LOCKSTEP_UNROLL for (int t = 0; t < VB; ++t) {
      sum[o][t] = task.add ? hn::Load(floats, task.sums + o * task.step + t * width) : hn::Zero(floats);
    }
  }
  const std::size_t step = task.step;
  const float* u = task.filters;
  const float* v = task.inputs;
  for (int c = task.channels; c > 0; --c, u += output_block, v += step) {
    Vector input[VB];
    LOCKSTEP_UNROLL for (int t = 0; t < VB; ++t) { input[t] = hn::Load(floats, v + t * width); }
    LOCKSTEP_UNROLL for (int o = 0; o < output_block; ++o) {
      const Vector factor = hn::Set(floats, u[o]);
      LOCKSTEP_UNROLL for (int t = 0; t < VB; ++t) { sum[o][t] = hn::MulAdd(input[t], factor, sum[o][t]); }
    }
  }
  LOCKSTEP_UNROLL for (int o = 0; o < output_block; ++o) {
    LOCKSTEP_UNROLL for (int t = 0; t < VB; ++t) {
      hn::Store(sum[o][t], floats, task.sums + o * step + t * width);
    }
  }
}

/// Multiplies all vectors for `outputs` output channels, a multiple of output_block.
HWY_NOINLINE void multiply(Products task, int outputs) {
  const int vectors = static_cast<int>(task.step) / width;
  for (int o = 0; o < outputs; o += output_block) {
    Products block = task;
    for (int left = vectors; left > 0;) {
      const int count = left == 4 ? 2 : smaller(left, vector_block);  // 2 + 2 use more sums than 3 + 1
      count == 3   ? multiply_block<3>(block)
      : count == 2 ? multiply_block<2>(block)
                   : multiply_block<1>(block);
      block.inputs += count * width;
      block.sums += count * width;
      left -= count;
    }
    task.filters += static_cast<std::size_t>(task.channels) * output_block;
    task.sums += output_block * task.step;
  }
}

/// Sizes of the scratch memory's blocks, in floats.
struct Layout {
  std::size_t inputs_step;   ///< [36][in channels][tiles with this position][16]
  std::size_t sums_step;     ///< [36][outputs of a block][tiles with this position][16]
  std::size_t filters_step;  ///< [36][outputs of a block / output_block][in channels][output_block]
  int filter_blocks;
};

Layout layout_of(const WinogradShape& shape, const WinogradBlocks& blocks) {
  const auto tiles = pixels(static_cast<std::size_t>(blocks.tiles));
  const auto outputs = static_cast<std::size_t>(padded_outputs(smaller(blocks.outputs, shape.out_channels)));
  const auto channels = static_cast<std::size_t>(smaller(blocks.channels, shape.in_channels));
  const int filter_blocks = (shape.out_channels + blocks.outputs - 1) / blocks.outputs *
                            ((shape.in_channels + blocks.channels - 1) / blocks.channels);
  return {position_step(static_cast<std::size_t>(shape.in_channels) * tiles), position_step(outputs * tiles),
          position_step(outputs * channels), blocks.keep_filters ? filter_blocks : 1};
}

template <class Element>
void transform_inputs(const WinogradConv<Element>& task, const Run& run, const Positions& to) {
  const WinogradShape& s = task.shape;
  const std::size_t plane = static_cast<std::size_t>(s.in_height) * s.in_width;
  run.for_each_kind([&](int kind, auto rows, auto columns) HWY_ATTR {
    for (int c = 0; c < s.in_channels; ++c) {
      run.for_each_tile(kind, [&](const Tile& tile, int number) HWY_ATTR {
        const std::size_t first = plane * (static_cast<std::size_t>(tile.group) * s.in_channels + c);
        const Image<Element> image{task.input + pixels(first),
                                   task.input_masks == nullptr ? nullptr : task.input_masks + first,
                                   s.in_height, s.in_width};
        for (int part = 0; part < parts; ++part) {
          const auto target = TilePositions::of(to, run, kind, c, number, part);
          with_window<rows + 2, columns + 2>(
              image, tile.row - s.padding, tile.column - s.padding, part, [&](const auto& window) HWY_ATTR {
                transform<InputTransform<rows>, InputTransform<columns>>(window, target);
              });
        }
      });
    }
  });
}

/// A block of output and input channels.
struct ChannelBlock {
  int first_output;
  int outputs;
  int first_channel;
  int channels;
};

/// Stores a tile of one output channel, adds the bias and applies ReLU. INSIDE: whether the whole tile
/// exists.
template <bool INSIDE, bool RELU, class Element>
struct OutputTile {
  Element* image;
  std::uint16_t* masks;
  int row_pixels;
  int rows;     ///< number of existing rows
  int columns;  ///< number of existing columns
  int part;
  Vector bias;

  HWY_INLINE void operator()(int i, int j, Vector v) const {
    if (!INSIDE && (i >= rows || j >= columns)) {
      return;
    }
    const std::size_t pixel = static_cast<std::size_t>(i) * row_pixels + j;
    v = hn::Add(v, bias);
    if constexpr (RELU) {
      const Mask pass = passes(v);
      save_mask(pass, part, masks + pixel);
      v = hn::IfThenElseZero(pass, v);
    }
    store(v, image + pixels(pixel));
  }
};

template <bool RELU, class Element>
void write_outputs(const WinogradConv<Element>& task, const Run& run, const ChannelBlock& block,
                   const Positions& from) {
  const WinogradShape& s = task.shape;
  const std::size_t plane = static_cast<std::size_t>(s.out_height) * s.out_width;
  run.for_each_kind([&](int kind, auto rows, auto columns) HWY_ATTR {
    using OfColumns = OutputTransform<rows>;
    using OfRows = OutputTransform<columns>;
    for (int o = block.first_output; o < block.first_output + block.outputs; ++o) {
      const Vector bias = hn::Set(floats, task.bias == nullptr ? 0.0F : task.bias[o]);
      run.for_each_tile(kind, [&](const Tile& tile, int number) HWY_ATTR {
        const std::size_t first = plane * (static_cast<std::size_t>(tile.group) * s.out_channels + o) +
                                  static_cast<std::size_t>(tile.row) * s.out_width + tile.column;
        const int height = smaller(rows, s.out_height - tile.row);
        const int width_left = smaller(columns, s.out_width - tile.column);
        std::uint16_t* masks = RELU ? task.output_masks + first : nullptr;
        for (int part = 0; part < parts; ++part) {
          Element* image = task.output + pixels(first) + part * width;
          const auto products = TilePositions::of(from, run, kind, o - block.first_output, number, part);
          if (height == rows && width_left == columns) {
            transform<OfColumns, OfRows>(
                products,
                OutputTile<true, RELU, Element>{image, masks, s.out_width, height, width_left, part, bias});
          } else {
            transform<OfColumns, OfRows>(
                products,
                OutputTile<false, RELU, Element>{image, masks, s.out_width, height, width_left, part, bias});
          }
        }
      });
    }
  });
}

/// Scratch memory.
struct Memory {
  Positions inputs;
  Positions sums;
  float* filters;  ///< blocks of 36 * filters_step floats
};

Memory memory_at(float* scratch, const Layout& layout) {
  float* sums = scratch + positions * layout.inputs_step;
  return {{scratch, layout.inputs_step}, {sums, layout.sums_step}, sums + positions * layout.sums_step};
}

/// Calls use(channel block, its index): output channels in the outer loop, input channels in the inner loop.
template <class Element, class Use>
void for_each_block(const WinogradConv<Element>& task, const Use& use) {
  const WinogradShape& s = task.shape;
  int index = 0;
  for (int o = 0; o < s.out_channels; o += task.blocks.outputs) {
    const int outputs = smaller(task.blocks.outputs, s.out_channels - o);
    for (int c = 0; c < s.in_channels; c += task.blocks.channels, ++index) {
      use(ChannelBlock{o, outputs, c, smaller(task.blocks.channels, s.in_channels - c)}, index);
    }
  }
}

template <class Element>
void transform_block(const WinogradConv<Element>& task, const ChannelBlock& block, float* result,
                     std::size_t step) {
  transform_filters({.weight = task.weight,
                     .transposed = task.transposed,
                     .out_channels = task.shape.out_channels,
                     .in_channels = task.shape.in_channels,
                     .first_output = block.first_output,
                     .outputs = block.outputs,
                     .first_channel = block.first_channel,
                     .channels = block.channels,
                     .result = result,
                     .position_step = step});
}

/// Adds the products of a channel block to the sums of its output channels.
void multiply_positions(const Memory& memory, const float* filters, std::size_t filters_step, const Run& run,
                        const ChannelBlock& block) {
  const int outputs = (block.outputs + output_block - 1) / output_block * output_block;
  for (int p = 0; p < positions; ++p) {
    const std::size_t step = pixels(static_cast<std::size_t>(run.all[position_kind(p)]));
    multiply({.filters = filters + filters_step * p,
              .inputs = memory.inputs.data + memory.inputs.step * p + step * block.first_channel,
              .sums = memory.sums.data + memory.sums.step * p,
              .step = step,
              .channels = block.channels,
              .add = block.first_channel > 0},
             outputs);
  }
}

std::size_t winograd_conv_scratch(const WinogradShape& shape, const WinogradBlocks& blocks) {
  const Layout layout = layout_of(shape, blocks);
  return positions * (layout.inputs_step + layout.sums_step + layout.filters_step * layout.filter_blocks);
}

template <class Element>
void winograd_conv(const WinogradConv<Element>& task) {
  const WinogradShape& s = task.shape;
  const Layout layout = layout_of(s, task.blocks);
  const Memory memory = memory_at(task.scratch, layout);
  const std::size_t block_floats = positions * layout.filters_step;
  const bool keep = task.blocks.keep_filters;
  if (keep) {
    for_each_block(task, [&](const ChannelBlock& block, int index) HWY_ATTR {
      transform_block(task, block, memory.filters + block_floats * index, layout.filters_step);
    });
  }
  const TileGrid grid = TileGrid::of(s.out_height, s.out_width, task.groups);
  for (int first = 0; first < grid.tiles(); first += task.blocks.tiles) {
    const Run run = Run::of(grid, first, task.blocks.tiles);
    transform_inputs(task, run, memory.inputs);
    for_each_block(task, [&](const ChannelBlock& block, int index) HWY_ATTR {
      float* filters = memory.filters + (keep ? block_floats * index : 0);
      if (!keep) {
        transform_block(task, block, filters, layout.filters_step);
      }
      multiply_positions(memory, filters, layout.filters_step, run, block);
      if (block.first_channel + block.channels == s.in_channels) {
        task.output_masks == nullptr ? write_outputs<false>(task, run, block, memory.sums)
                                     : write_outputs<true>(task, run, block, memory.sums);
      }
    });
  }
}

template <class Element>
constexpr WinogradFunctions<Element> winograd_functions{
    .conv = winograd_conv<Element>, .backward_weights = winograd_backward_weights<Element>};

}  // namespace

const WinogradKernels winograd_kernels{winograd_functions<float>, winograd_functions<Bfloat16>,
                                       winograd_conv_scratch, winograd_backward_weights_scratch};

}  // namespace lockstep::cpu::LOCKSTEP_LEVEL
