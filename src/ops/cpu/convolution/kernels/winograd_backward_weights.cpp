#include <type_traits>

#include "ops/cpu/convolution/kernels/winograd.h"
#include "ops/cpu/convolution/kernels/winograd_tiles.h"
#include "ops/cpu/kernels/transpose.h"

namespace lockstep::cpu::LOCKSTEP_LEVEL {
namespace {

using namespace winograd;

// Input channels are in lanes, so that no sum must be folded over lanes. A register block is gradient_block
// output channels x channel_block input channels.
constexpr int unit = 16;  ///< input channels are padded with zeros to a multiple of this
constexpr int channel_block = width == 16 ? 32 : unit;
constexpr int gradient_block = width == 16 ? 8 : 6;

int round_up(int count, int multiple) { return (count + multiple - 1) / multiple * multiple; }

/// Sizes of scratch memory in floats. An "image" in this file is one image of one tile.
struct Layout {
  int channels;      ///< padded
  int outputs;       ///< output channels of a block, padded
  int sum_channels;  ///< channels whose sums are kept at once
  std::size_t
      inputs_step;  ///< [36][channels / channel_block][image][channel_block]; the last block may be narrow
  std::size_t gradients_step;  ///< [36][outputs][image]
  std::size_t sums_step;       ///< [36][outputs][sum_channels]
};

/// Provides memory for the sums of all channels, which are kept between runs of tiles, unless there is only
/// one run.
Layout layout_of(const WinogradShape& shape, const WinogradBlocks& blocks, bool one_run) {
  const int channels = round_up(shape.in_channels, unit);
  const int outputs = round_up(smaller(blocks.outputs, shape.out_channels), gradient_block);
  const int sum_channels = one_run ? smaller(channels, round_up(blocks.channels, channel_block)) : channels;
  const auto images = pixels(static_cast<std::size_t>(blocks.tiles));
  return {channels,
          outputs,
          sum_channels,
          position_step(images * channels),
          position_step(images * outputs),
          position_step(static_cast<std::size_t>(outputs) * sum_channels)};
}

/// Scratch memory.
struct Memory {
  float* inputs;
  float* gradients;
  float* sums;
  float* patches;    ///< [36][16 channels][16 images] of one tile
  float* bias_sums;  ///< [outputs][16]
};

Memory memory_at(float* scratch, const Layout& layout) {
  float* gradients = scratch + positions * layout.inputs_step;
  float* sums = gradients + positions * layout.gradients_step;
  float* patches = sums + positions * layout.sums_step;
  return {scratch, gradients, sums, patches, patches + positions * unit * lanes};
}

/// A run of tiles and a block of output channels.
struct Block {
  const WinogradShape& shape;
  Layout layout;
  Memory memory;
  const Run& run;
  int first_output;
  int outputs;
  bool add;  ///< whether to add to the sums of earlier tiles

  /// Number of images that have position `position`.
  int images(int position) const { return run.all[position_kind(position)] * lanes; }
};

/// Computes sums[o][c] = (add ? sums[o][c] : 0) + sum over k of gradients[o][k] inputs[k][c].
struct Products {
  const float* gradients;
  const float* inputs;
  float* sums;
  std::size_t sums_step;
  int images;
  bool add;
};

template <int VECTORS>
HWY_INLINE void multiply_block(const Products& task) {
  constexpr int step = VECTORS * width;
  Vector sum[gradient_block][VECTORS];
  LOCKSTEP_UNROLL for (int o = 0; o < gradient_block; ++o) {
    LOCKSTEP_UNROLL for (int i = 0; i < VECTORS; ++i) {
      sum[o][i] = task.add ? hn::Load(floats, task.sums + o * task.sums_step + i * width) : hn::Zero(floats);
    }
  }
  const int images = task.images;
  const std::size_t row = static_cast<std::size_t>(images);
  const float* z = task.gradients;
  const float* v = task.inputs;
  for (int k = 0; k < images; ++k, ++z, v += step) {
    Vector input[VECTORS];
    LOCKSTEP_UNROLL for (int i = 0; i < VECTORS; ++i) { input[i] = hn::Load(floats, v + i * width); }
    LOCKSTEP_UNROLL for (int o = 0; o < gradient_block; ++o) {
      const Vector factor = hn::Set(floats, z[o * row]);
      LOCKSTEP_UNROLL for (int i = 0; i < VECTORS; ++i) {
        sum[o][i] = hn::MulAdd(input[i], factor, sum[o][i]);
      }
    }
  }
  LOCKSTEP_UNROLL for (int o = 0; o < gradient_block; ++o) {
    LOCKSTEP_UNROLL for (int i = 0; i < VECTORS; ++i) {
      hn::Store(sum[o][i], floats, task.sums + o * task.sums_step + i * width);
    }
  }
}

/// Input channels whose sums are kept at once.
struct ChannelRange {
  int begin;
  int end;  ///< padded
};

/// Multiplies one position for all output channels of the block.
HWY_NOINLINE void multiply(const Block& block, const ChannelRange& range, int position) {
  const int images = block.images(position);
  const float* inputs = block.memory.inputs + block.layout.inputs_step * position;
  for (int c = range.begin; c < range.end; c += channel_block) {
    Products task{block.memory.gradients + block.layout.gradients_step * position,
                  inputs + static_cast<std::size_t>(images) * c,
                  block.memory.sums + block.layout.sums_step * position + (c - range.begin),
                  static_cast<std::size_t>(block.layout.sum_channels),
                  images,
                  block.add};
    for (int o = 0; o < block.outputs; o += gradient_block) {
      if (range.end - c >= channel_block) {
        multiply_block<channel_block / width>(task);
      } else {
        multiply_block<unit / width>(task);
      }
      task.gradients += static_cast<std::size_t>(gradient_block) * images;
      task.sums += gradient_block * task.sums_step;
    }
  }
}

/// Transposes [channel][image] to [image][channel] with images `step` floats apart.
HWY_INLINE void transpose(const float* from, float* to, std::size_t step) {
  for (int c = 0; c < unit; c += width) {
    LOCKSTEP_UNROLL for (int image = 0; image < lanes; image += 4) {
      Vector columns[4];
      load_columns(from + c * lanes + image, lanes, columns);
      LOCKSTEP_UNROLL for (int i = 0; i < 4; ++i) {
        hn::Store(columns[i], floats, to + (image + i) * step + c);
      }
    }
  }
}

/// Transforms the patches of `unit` input channels of one tile; missing channels are zeros.
template <int ROWS, int COLUMNS, class Element>
HWY_NOINLINE void transform_patches(const Block& block, const Element* input, const Tile& tile,
                                    int first_channel) {
  const WinogradShape& s = block.shape;
  const std::size_t plane = pixels(static_cast<std::size_t>(s.in_height) * s.in_width);
  const Element* data =
      input + plane * (static_cast<std::size_t>(tile.group) * s.in_channels + first_channel);
  float* patches = block.memory.patches;
  for (int c = first_channel; c < first_channel + unit; ++c, data += plane, patches += lanes) {
    for (int part = 0; part < parts; ++part) {
      const Positions target{patches + part * width, unit * lanes};
      if (c >= s.in_channels) {
        for (int p = 0; p < positions; ++p) {
          target(0, p, hn::Zero(floats));
        }
        continue;
      }
      with_window<ROWS + 2, COLUMNS + 2>(
          Image<Element>{data, nullptr, s.in_height, s.in_width}, tile.row - s.padding,
          tile.column - s.padding, part, [&](const auto& window) HWY_ATTR {
            transform<InputTransform<ROWS>, InputTransform<COLUMNS>>(window, target);
          });
    }
  }
}

template <class Element>
void transform_inputs(const Block& block, const Element* input) {
  const Layout& layout = block.layout;
  block.run.for_each_kind([&](int kind, auto rows, auto columns) HWY_ATTR {
    for (int c = 0; c < layout.channels; c += unit) {
      const int first = c / channel_block * channel_block;
      const auto step = static_cast<std::size_t>(smaller(channel_block, layout.channels - first));
      block.run.for_each_tile(kind, [&](const Tile& tile, int number) HWY_ATTR {
        transform_patches<rows, columns>(block, input, tile, c);
        for (int i = 0; i < rows + 2; ++i) {
          for (int j = 0; j < columns + 2; ++j) {
            const int position = i * patch + j;
            const auto image =
                static_cast<std::size_t>(block.run.before[position_kind(i, j)][kind] + number) * lanes;
            const auto images = static_cast<std::size_t>(block.images(position));
            transpose(block.memory.patches + static_cast<std::size_t>(position) * unit * lanes,
                      block.memory.inputs + layout.inputs_step * position + images * first + image * step +
                          c % channel_block,
                      step);
          }
        }
      });
    }
  });
}

/// Forwards pixels from `source` and adds them to `sum`: columns ascending, rows ascending within a column.
template <class Source>
struct Summed {
  Source source;
  Vector& sum;
  HWY_INLINE Vector operator()(int i, int j) const {
    const Vector v = source(i, j);
    sum = hn::Add(sum, v);
    return v;
  }
};

/// Transforms the gradients of one output channel and adds them to the images' bias sums. The gradients of a
/// tile are first summed from zero.
template <int ROWS, int COLUMNS, class Element>
void transform_gradients(const WinogradBackwardWeights<Element>& task, const Block& block, int kind,
                         int output, float* bias_sum) {
  const WinogradShape& s = task.shape;
  const std::size_t plane = static_cast<std::size_t>(s.out_height) * s.out_width;
  const Positions gradients{block.memory.gradients, block.layout.gradients_step};
  block.run.for_each_tile(kind, [&](const Tile& tile, int number) HWY_ATTR {
    const std::size_t first =
        plane * (static_cast<std::size_t>(tile.group) * s.out_channels + block.first_output + output);
    const Image<Element> image{task.grad_output + pixels(first),
                               task.masks == nullptr ? nullptr : task.masks + first, s.out_height,
                               s.out_width};
    for (int part = 0; part < parts; ++part) {
      const auto target = TilePositions::of(gradients, block.run, kind, output, number, part);
      Vector sum = hn::Zero(floats);
      with_window<ROWS, COLUMNS>(image, tile.row, tile.column, part, [&](const auto& window) HWY_ATTR {
        const Summed<std::decay_t<decltype(window)>> summed{window, sum};
        transform<GradientTransform<ROWS>, GradientTransform<COLUMNS>>(summed, target);
      });
      float* total = bias_sum + part * width;
      hn::Store(hn::Add(hn::Load(floats, total), sum), floats, total);
    }
  });
}

/// Transforms the gradients of the block's output channels and pads them with zeros to whole register blocks.
template <class Element>
void transform_gradients(const WinogradBackwardWeights<Element>& task, const Block& block) {
  if (!block.add) {
    clear(block.memory.bias_sums, pixels(static_cast<std::size_t>(block.outputs)));
  }
  block.run.for_each_kind([&](int kind, auto rows, auto columns) HWY_ATTR {
    for (int o = 0; o < block.outputs; ++o) {
      transform_gradients<rows, columns>(task, block, kind, o,
                                         block.memory.bias_sums + pixels(static_cast<std::size_t>(o)));
    }
  });
  const int missing = round_up(block.outputs, gradient_block) - block.outputs;
  for (int p = 0; missing > 0 && p < positions; ++p) {
    const auto images = static_cast<std::size_t>(block.images(p));
    clear(block.memory.gradients + block.layout.gradients_step * p + images * block.outputs,
          images * missing);
  }
}

/// Stores the weights' gradients of one output channel as [row][column][width channels].
struct Taps {
  float* data;
  HWY_INLINE void operator()(int i, int j, Vector v) const {
    hn::Store(v, floats, data + (i * filter + j) * width);
  }
};

/// Computes the gradients of the block's weights from their sums.
void write_gradients(const Block& block, const ChannelRange& range, float* grad_weight) {
  constexpr int taps = filter * filter;
  const WinogradShape& s = block.shape;
  for (int o = 0; o < block.outputs; ++o) {
    const std::size_t row = static_cast<std::size_t>(block.first_output + o) * s.in_channels;
    float* weight = grad_weight + (row + range.begin) * taps;
    float* sum = block.memory.sums + static_cast<std::size_t>(o) * block.layout.sum_channels;
    for (int c = range.begin; c < smaller(range.end, s.in_channels); c += width, sum += width) {
      alignas(64) float values[taps * width];
      const Positions sums{sum, block.layout.sums_step};
      transform<FilterGradientTransform, FilterGradientTransform>(sums, Taps{values});
      const int count = smaller(width, s.in_channels - c);
      for (int i = 0; i < count; ++i, weight += taps) {
        LOCKSTEP_UNROLL for (int k = 0; k < taps; ++k) { weight[k] = values[k * width + i]; }
      }
    }
  }
}

/// Adds the products of the block to the sums. After the last tiles, writes the gradients.
template <class Element>
void add_products(const WinogradBackwardWeights<Element>& task, const Block& block, bool last_tiles) {
  const Layout& layout = block.layout;
  for (int c = 0; c < layout.channels; c += layout.sum_channels) {
    const ChannelRange range{c, smaller(c + layout.sum_channels, layout.channels)};
    for (int p = 0; p < positions; ++p) {
      multiply(block, range, p);
    }
    if (last_tiles) {
      write_gradients(block, range, task.grad_weight);
    }
  }
  if (last_tiles && task.grad_bias != nullptr) {
    fold_lanes(block.memory.bias_sums, block.outputs, task.grad_bias + block.first_output);
  }
}

}  // namespace

std::size_t winograd_backward_weights_scratch(const WinogradShape& shape, const WinogradBlocks& blocks) {
  const Layout layout = layout_of(shape, blocks, false);
  return positions * (layout.inputs_step + layout.gradients_step + layout.sums_step + unit * lanes) +
         pixels(static_cast<std::size_t>(layout.outputs));
}

/// Transforms the inputs once if there is a single run of tiles, else once per block of outputs.
template <class Element>
void winograd_backward_weights(const WinogradBackwardWeights<Element>& task) {
  const WinogradShape& s = task.shape;
  const TileGrid grid = TileGrid::of(s.out_height, s.out_width, task.groups);
  const int tiles = grid.tiles();
  const Layout layout = layout_of(s, task.blocks, tiles <= task.blocks.tiles);
  const Memory memory = memory_at(task.scratch, layout);
  for (int o = 0; o < s.out_channels; o += task.blocks.outputs) {
    for (int first = 0; first < tiles; first += task.blocks.tiles) {
      const Run run = Run::of(grid, first, task.blocks.tiles);
      const Block block{.shape = s,
                        .layout = layout,
                        .memory = memory,
                        .run = run,
                        .first_output = o,
                        .outputs = smaller(task.blocks.outputs, s.out_channels - o),
                        .add = first > 0};
      if (o == 0 || tiles > task.blocks.tiles) {
        transform_inputs(block, task.input);
      }
      transform_gradients(task, block);
      add_products(task, block, first + task.blocks.tiles >= tiles);
    }
  }
}

template void winograd_backward_weights(const WinogradBackwardWeights<float>& task);
template void winograd_backward_weights(const WinogradBackwardWeights<Bfloat16>& task);

}  // namespace lockstep::cpu::LOCKSTEP_LEVEL
