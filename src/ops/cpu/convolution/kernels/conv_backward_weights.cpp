#include "ops/cpu/convolution/kernels/direct_conv.h"
#include "ops/cpu/kernels/vectors.h"

namespace lockstep::cpu::LOCKSTEP_LEVEL {
namespace {

/// Maximum size of the sums of a pass, so that they fit into the second-level cache.
constexpr std::size_t sums_limit = std::size_t{32} << 10;  // floats
/// Maximum size of the expanded rows of a block of output channels, so that they fit into the first-level
/// cache.
constexpr std::size_t band_limit = std::size_t{4} << 10;  // floats

/// Maximum number of output channels in a block.
constexpr int max_channels = 8;

/// Rows of a gradient, and the input rows that they are multiplied with.
struct Band {
  const float* input;  ///< input row, in the first channel, that belongs to the first gradient row
  const float* grad;   ///< first gradient row, in the block's first channel
  std::size_t grad_plane;
  int rows;
};

/// Adds a band to OB x R x KW sums in registers. Tap (r, k) reads the input at offset r * input_step floats +
/// k pixels; its sum is at offset (r * KW + k) pixels from `sums`, with channels sums_plane floats apart.
template <int KW, int ST, int R, int OB>
HWY_NOINLINE void tile(const ConvGeometry& g, const Band& band, const float* input, std::size_t input_step,
                       float* sums, std::size_t sums_plane) {
  const std::size_t step = pixels(ST != 0 ? ST : g.stride);
  const std::size_t row_step = pixels(g.in_width) * g.stride;
  Vector sum[OB][R * KW];
  LOCKSTEP_UNROLL for (int o = 0; o < OB; ++o) {
    LOCKSTEP_UNROLL for (int t = 0; t < R * KW; ++t) {
      sum[o][t] = hn::Load(floats, sums + o * sums_plane + pixels(t));
    }
  }
  const std::size_t plane = band.grad_plane;
  const int columns = g.out_width;
  const int rows = band.rows;
  const float* d = band.grad;
  for (int h = 0; h < rows; ++h, input += row_step) {
    const float* x = input;
    for (int q = 0; q < columns; ++q, x += step, d += lanes) {
      x = many_registers ? opaque(x) : x;
      Vector grad[OB];
      LOCKSTEP_UNROLL for (int o = 0; o < OB; ++o) { grad[o] = hn::Load(floats, d + o * plane); }
      LOCKSTEP_UNROLL for (int r = 0; r < R; ++r) {
        LOCKSTEP_UNROLL for (int k = 0; k < KW; ++k) {
          const Vector pixel = hn::Load(floats, x + r * input_step + pixels(k));
          LOCKSTEP_UNROLL for (int o = 0; o < OB; ++o) {
            sum[o][r * KW + k] = hn::MulAdd(grad[o], pixel, sum[o][r * KW + k]);
          }
        }
      }
    }
  }
  LOCKSTEP_UNROLL for (int o = 0; o < OB; ++o) {
    LOCKSTEP_UNROLL for (int t = 0; t < R * KW; ++t) {
      hn::Store(sum[o][t], floats, sums + o * sums_plane + pixels(t));
    }
  }
}

/// Input channels of a pass, and the pass's sums: [output channel][channel - first_channel][kernel
/// row][kernel column][16].
struct Pass {
  int first_channel;
  int channels;
  float* sums;
  std::size_t sums_plane;
};

/// Adds a band to the sums of all taps of a pass for OB output channels. Processes R kernel rows at once,
/// where R divides the number of kernel rows. With 1 x 1 kernels, processes R channels at once, then single
/// channels.
template <int KW, int ST, int R, int OB>
void taps(const ConvGeometry& g, const Band& band, const Pass& pass) {
  const std::size_t plane = pixels(g.in_width) * g.in_height;
  const std::size_t row_floats = pixels(g.in_width);
  constexpr bool whole_channels = KW == 1;
  const int rows = whole_channels ? pass.channels : g.kernel;
  const int channels = whole_channels ? 1 : pass.channels;
  const std::size_t input_step = whole_channels ? plane : row_floats;
  float* sums = pass.sums;
  for (int c = 0; c < channels; ++c) {
    const float* input = band.input + plane * (pass.first_channel + c);
    int r = 0;
    for (; r + R <= rows; r += R, sums += pixels(R * KW)) {
      tile<KW, ST, R, OB>(g, band, input + input_step * r, input_step, sums, pass.sums_plane);
    }
    if constexpr (whole_channels) {
      for (; r < rows; ++r, sums += pixels(KW)) {
        tile<KW, ST, 1, OB>(g, band, input + input_step * r, input_step, sums, pass.sums_plane);
      }
    }
  }
}

/// Adds a band to the sums of a pass, one tap at a time, for other kernel widths and strides.
template <int OB>
void single_taps(const ConvGeometry& g, const Band& band, const Pass& pass) {
  const std::size_t row_floats = pixels(g.in_width);
  float* sums = pass.sums;
  for (int c = 0; c < pass.channels; ++c) {
    for (int kh = 0; kh < g.kernel; ++kh) {
      const int row = (pass.first_channel + c) * g.in_height + kh;
      for (int kw = 0; kw < g.kernel; ++kw, sums += lanes) {
        tile<1, 0, 1, OB>(g, band, band.input + row_floats * row + pixels(kw), 0, sums, pass.sums_plane);
      }
    }
  }
}

using Taps = void (*)(const ConvGeometry&, const Band&, const Pass&);

/// Functions for a convolution: `many` for blocks of `block` output channels, `one` for remaining single
/// ones.
struct Choice {
  int block;
  Taps many;
  Taps one;
};

template <int KW, int R, int OB>
Choice choice(int stride) {
  return stride == 1   ? Choice{OB, taps<KW, 1, R, OB>, taps<KW, 1, R, 1>}
         : stride == 2 ? Choice{OB, taps<KW, 2, R, OB>, taps<KW, 2, R, 1>}
                       : Choice{OB, single_taps<OB>, single_taps<1>};
}

/// Chooses blocks that fill the registers.
Choice choose(const ConvGeometry& g) {
  constexpr bool many = many_registers;
  switch (g.kernel) {
    case 1:
      return choice < 1, many ? 4 : 3, many ? 6 : 4 > (g.stride);
    case 2:
      return choice < 2, many ? 2 : 1, 6 > (g.stride);
    case 3:
      return choice < 3, many ? 3 : 1, many ? 3 : 4 > (g.stride);
    case 5:
      return choice < 5, 1, many ? 5 : 2 > (g.stride);
    case 7:
      return choice < 7, 1, many ? 3 : 1 > (g.stride);
    default:
      return {many ? max_channels : 6, single_taps < many ? max_channels : 6 >, single_taps<1>};
  }
}

int kernel_size(const ConvGeometry& g) { return g.kernel * g.kernel; }

int channels_per_pass(const ConvGeometry& g) {
  const std::size_t one = pixels(static_cast<std::size_t>(kernel_size(g)) * max_channels);
  return larger(1, smaller(g.in_channels, static_cast<int>(sums_limit / one)));
}

/// Number of rows that are expanded at once: a multiple of the pooling window.
int band_rows(const ConvGeometry& g, const PoolEpilogue& epilogue, int block) {
  const std::size_t windows = band_limit / (pixels(g.out_width) * block * epilogue.window);
  return smaller(g.out_height, larger(1, static_cast<int>(windows)) * epilogue.window);
}

/// Adds the gradients of a band, row by row, to one pixel per output channel.
void add_bias(const ConvGeometry& g, const Band& band, int block, float* sums) {
  const int count = g.out_width * band.rows;
  for (int o = 0; o < block; ++o) {
    for (int part = 0; part < parts; ++part) {
      const float* grad = band.grad + band.grad_plane * o + part * width;
      float* target = sums + pixels(o) + part * width;
      Vector sum = hn::Load(floats, target);
      for (int q = 0; q < count; ++q) {
        sum = hn::Add(sum, hn::Load(floats, grad + pixels(q)));
      }
      hn::Store(sum, floats, target);
    }
  }
}

/// A block of output channels, with the scratch memory of the block's passes.
struct Block {
  int first;
  int channels;
  Taps taps;
  int band_rows;
  float* bias_sums;  ///< [max_channels][16]
  float* band;       ///< expanded rows
};

Band band_at(const ConvBackwardWeights& task, const Block& block, int group, int row) {
  const ConvGeometry& g = task.geometry;
  const int rows = smaller(block.band_rows, g.out_height - row);
  const int window = task.expand ? task.epilogue.window : 1;
  const int stored_width = g.out_width / window;
  const std::size_t stored = static_cast<std::size_t>(g.out_height / window) * stored_width;
  const std::size_t channel = static_cast<std::size_t>(group) * g.out_channels + block.first;
  const float* grad =
      task.grad_output + pixels(stored * channel + static_cast<std::size_t>(row / window) * stored_width);
  const float* input = task.input + pixels(static_cast<std::size_t>(g.in_width) *
                                           (static_cast<std::size_t>(group) * g.in_channels * g.in_height +
                                            static_cast<std::size_t>(row) * g.stride));
  if (!task.expand) {
    return {input, grad, pixels(stored), rows};
  }
  const std::size_t unpooled = static_cast<std::size_t>(g.out_height) * g.out_width;
  const std::size_t plane = pixels(static_cast<std::size_t>(rows) * g.out_width);
  const std::uint16_t* masks =
      task.masks == nullptr ? nullptr
                            : task.masks + unpooled * channel + static_cast<std::size_t>(row) * g.out_width;
  expand({task.epilogue, block.channels, rows, g.out_width, grad, pixels(stored), masks, unpooled, block.band,
          plane});
  return {input, block.band, plane, rows};
}

void run_pass(const ConvBackwardWeights& task, const Block& block, const Pass& pass) {
  const ConvGeometry& g = task.geometry;
  clear(pass.sums, pass.sums_plane * block.channels);
  clear(block.bias_sums, pixels(block.channels));
  for (int group = 0; group < task.groups; ++group) {
    for (int row = 0; row < g.out_height; row += block.band_rows) {
      const Band band = band_at(task, block, group, row);
      for (int part = 0; part < parts; ++part) {
        const int offset = part * width;
        block.taps(g, {band.input + offset, band.grad + offset, band.grad_plane, band.rows},
                   {pass.first_channel, pass.channels, pass.sums + offset, pass.sums_plane});
      }
      if (pass.first_channel == 0 && task.grad_bias != nullptr) {
        add_bias(g, band, block.channels, block.bias_sums);
      }
    }
  }
  const int taps_of_channel = kernel_size(g);
  for (int o = 0; o < block.channels; ++o) {
    const std::size_t filter = static_cast<std::size_t>(block.first + o) * g.in_channels + pass.first_channel;
    fold_lanes(pass.sums + pass.sums_plane * o, pass.channels * taps_of_channel,
               task.grad_weight + filter * taps_of_channel);
  }
  if (pass.first_channel == 0 && task.grad_bias != nullptr) {
    fold_lanes(block.bias_sums, block.channels, task.grad_bias + block.first);
  }
}

}  // namespace

std::size_t conv_backward_weights_scratch(const ConvGeometry& geometry, const PoolEpilogue& epilogue,
                                          bool expand) {
  const std::size_t sums =
      pixels(static_cast<std::size_t>(channels_per_pass(geometry)) * kernel_size(geometry) * max_channels);
  const Choice chosen = choose(geometry);
  const std::size_t band =
      expand ? pixels(static_cast<std::size_t>(band_rows(geometry, epilogue, chosen.block)) *
                      geometry.out_width * chosen.block)
             : 0;
  return pixels(max_channels) + sums + band;
}

void conv_backward_weights(const ConvBackwardWeights& task) {
  const ConvGeometry& g = task.geometry;
  const Choice chosen = choose(g);
  const int per_pass = channels_per_pass(g);
  const std::size_t sums = pixels(static_cast<std::size_t>(per_pass) * kernel_size(g) * max_channels);
  float* pass_sums = task.scratch + pixels(max_channels);
  for (int o = 0; o < g.out_channels;) {
    const bool whole = o + chosen.block <= g.out_channels;
    const Block block{o,
                      whole ? chosen.block : 1,
                      whole ? chosen.many : chosen.one,
                      task.expand ? band_rows(g, task.epilogue, chosen.block) : g.out_height,
                      task.scratch,
                      pass_sums + sums};
    for (int c = 0; c < g.in_channels; c += per_pass) {
      const int channels = smaller(per_pass, g.in_channels - c);
      run_pass(task, block,
               {c, channels, pass_sums, pixels(static_cast<std::size_t>(channels) * kernel_size(g))});
    }
    o += block.channels;
  }
}

}  // namespace lockstep::cpu::LOCKSTEP_LEVEL
