#include "ops/cpu/convolution/kernels/direct_conv.h"
#include "ops/cpu/convolution/kernels/region.h"
#include "ops/cpu/kernels/vectors.h"

namespace lockstep::cpu::LOCKSTEP_LEVEL {
namespace {

/// Maximum output channels and columns of a region: its rows stay in L1 until the epilogue has run.
constexpr int channel_chunk = many_registers ? 8 : 6;
constexpr int column_chunk = 32;

int columns_at_once(const PoolEpilogue& epilogue) {
  return larger(column_chunk / epilogue.window, 1) * epilogue.window;
}

/// Address of a tile's results.
struct Target {
  float* data;        ///< of the first output channel
  std::size_t plane;  ///< stride of channels, in floats
};

/// Computes OB output channels x P pixels of one row in registers. `input`: the tile's first pixel in channel
/// 0; `weight` and `bias`: values of the first output channel. KW or ST 0: known only at run time.
template <int KW, int ST, int OB, int P>
HWY_NOINLINE void tile(const ConvGeometry& g, const float* input, const float* weight, const float* bias,
                       Target target) {
  const int columns = KW != 0 ? KW : g.kernel;
  const std::size_t step = pixels(ST != 0 ? ST : g.stride);
  const std::size_t filter = static_cast<std::size_t>(g.in_channels) * g.kernel * columns;
  const std::size_t row_floats = pixels(g.in_width);
  const std::size_t plane = row_floats * g.in_height;
  Vector sum[OB][P];
  LOCKSTEP_UNROLL for (int o = 0; o < OB; ++o) {
    LOCKSTEP_UNROLL for (int p = 0; p < P; ++p) { sum[o][p] = hn::Set(floats, bias[o]); }
  }
  const int channels = g.in_channels;
  const int kernel_rows = g.kernel;
  const auto add_column = [&](const float* x, const float* w) HWY_ATTR {
    // Registers hold the sums and either the pixels or the weights, whichever are fewer.
    if constexpr (P > OB && !many_registers) {
      x = opaque(x);
      Vector factor[OB];
      LOCKSTEP_UNROLL for (int o = 0; o < OB; ++o) { factor[o] = hn::Set(floats, w[o * filter]); }
      LOCKSTEP_UNROLL for (int p = 0; p < P; ++p) {
        const Vector pixel = hn::Load(floats, x + p * step);
        LOCKSTEP_UNROLL for (int o = 0; o < OB; ++o) { sum[o][p] = hn::MulAdd(pixel, factor[o], sum[o][p]); }
      }
    } else {
      Vector pixel[P];
      LOCKSTEP_UNROLL for (int p = 0; p < P; ++p) { pixel[p] = hn::Load(floats, x + p * step); }
      LOCKSTEP_UNROLL for (int o = 0; o < OB; ++o) {
        const Vector factor = hn::Set(floats, w[o * filter]);
        LOCKSTEP_UNROLL for (int p = 0; p < P; ++p) { sum[o][p] = hn::MulAdd(pixel[p], factor, sum[o][p]); }
      }
    }
  };
  for (int c = 0; c < channels; ++c, input += plane) {
    const float* row = input;
    for (int kh = 0; kh < kernel_rows; ++kh, row += row_floats, weight += columns) {
      if constexpr (KW != 0) {
        LOCKSTEP_UNROLL for (int kw = 0; kw < KW; ++kw) { add_column(row + pixels(kw), weight + kw); }
      } else {
        for (int kw = 0; kw < columns; ++kw) {
          add_column(row + pixels(kw), weight + kw);
        }
      }
    }
  }
  LOCKSTEP_UNROLL for (int o = 0; o < OB; ++o) {
    LOCKSTEP_UNROLL for (int p = 0; p < P; ++p) {
      hn::Store(sum[o][p], floats, target.data + o * target.plane + pixels(p));
    }
  }
}

/// Computes P pixels of `channels` output channels in blocks of OB, then 2, then 1.
template <int KW, int ST, int OB, int P>
void channels_of_tile(const ConvGeometry& g, int channels, const float* input, const float* weight,
                      const float* bias, Target target) {
  const std::size_t filter = static_cast<std::size_t>(g.in_channels) * g.kernel * g.kernel;
  const auto advance = [&](int block) {
    weight += filter * block;
    bias += block;
    target.data += target.plane * block;
  };
  for (; channels >= OB; channels -= OB) {
    tile<KW, ST, OB, P>(g, input, weight, bias, target);
    advance(OB);
  }
  if constexpr (OB > 2) {
    for (; channels >= 2; channels -= 2) {
      tile<KW, ST, 2, P>(g, input, weight, bias, target);
      advance(2);
    }
  }
  for (; channels > 0; --channels) {
    tile<KW, ST, 1, P>(g, input, weight, bias, target);
    advance(1);
  }
}

/// Computes `columns` pixels of one row. To cover a remainder, computes some pixels twice.
template <int KW, int ST>
void row(const ConvGeometry& g, int channels, int columns, const float* input, const float* weight,
         const float* bias, Target target) {
  const std::size_t step = pixels(ST != 0 ? ST : g.stride);
  const auto at = [&](int q) { return Target{target.data + pixels(q), target.plane}; };
  int q = 0;
  if constexpr (many_registers) {
    for (; q + 8 <= columns; q += 8) {
      channels_of_tile<KW, ST, 2, 8>(g, channels, input + q * step, weight, bias, at(q));
    }
  }
  for (; q + 4 <= columns; q += 4) {
    channels_of_tile<KW, ST, many_registers ? 4 : 3, 4>(g, channels, input + q * step, weight, bias, at(q));
  }
  if (columns - q > 1 && columns >= 4) {
    q = columns - 4;
    channels_of_tile<KW, ST, many_registers ? 4 : 3, 4>(g, channels, input + q * step, weight, bias, at(q));
    return;
  }
  for (; q < columns; ++q) {
    channels_of_tile<KW, ST, channel_chunk, 1>(g, channels, input + q * step, weight, bias, at(q));
  }
}

using Row = void (*)(const ConvGeometry&, int, int, const float*, const float*, const float*, Target);

Row row_function(const ConvGeometry& g) {
  const bool two = g.stride == 2;
  if (g.stride > 2) {
    return row<0, 0>;
  }
  switch (g.kernel) {
    case 1:
      return two ? row<1, 2> : row<1, 1>;
    case 2:
      return two ? row<2, 2> : row<2, 1>;
    case 3:
      return two ? row<3, 2> : row<3, 1>;
    case 5:
      return two ? row<5, 2> : row<5, 1>;
    case 7:
      return two ? row<7, 2> : row<7, 1>;
    default:
      return row<0, 0>;
  }
}

/// Pools `region`, which counts pixels before pooling and is a multiple of the window, from scratch rows
/// [channel][row][column][16] into the output. WINDOW 0: known only at run time.
template <int WINDOW, bool RELU>
void pool_region(const ConvForward& task, const Region& region) {
  const int window = WINDOW != 0 ? WINDOW : task.epilogue.window;
  const ConvGeometry& g = task.geometry;
  const Vector scale = hn::Set(floats, 1.0F / static_cast<float>(window * window));
  const int out_width = g.out_width / window;
  const int out_height = g.out_height / window;
  for (int c = 0; c < region.channels; ++c) {
    const int channel = region.channel + c;
    const float* rows = task.rows + pixels(static_cast<std::size_t>(c) * region.rows * region.columns);
    float* output =
        task.output +
        pixels((static_cast<std::size_t>(channel) * out_height + region.row / window) * out_width +
               region.column / window);
    std::uint16_t* masks =
        RELU ? task.masks + (static_cast<std::size_t>(channel) * g.out_height + region.row) * g.out_width +
                   region.column
             : nullptr;
    for (int q = 0; q < region.columns; q += window, output += lanes) {
      LOCKSTEP_UNROLL for (int part = 0; part < parts; ++part) {
        Vector sum = hn::Zero(floats);
        for (int i = 0; i < window; ++i) {
          for (int j = 0; j < window; ++j) {
            Vector v = hn::Load(floats, rows + pixels(i * region.columns + q + j) + part * width);
            if constexpr (RELU) {
              const Mask pass = passes(v);
              save_mask(pass, part, masks + static_cast<std::size_t>(i) * g.out_width + q + j);
              v = hn::IfThenElseZero(pass, v);
            }
            sum = i + j == 0 ? v : hn::Add(sum, v);
          }
        }
        hn::Store(hn::Mul(sum, scale), floats, output + part * width);
      }
    }
  }
}

template <bool RELU>
void pool_region(const ConvForward& task, const Region& region) {
  task.epilogue.window == 2 ? pool_region<2, RELU>(task, region) : pool_region<0, RELU>(task, region);
}

/// Computes one region into the scratch rows.
void compute_region(const ConvForward& task, Row function, const Region& region) {
  const ConvGeometry& g = task.geometry;
  const std::size_t filter = static_cast<std::size_t>(g.in_channels) * g.kernel * g.kernel;
  const float* weight = task.weight + filter * region.channel;
  const float* bias = task.bias + region.channel;
  const std::size_t row_floats = pixels(region.columns);
  for (int part = 0; part < parts; ++part) {
    for (int r = 0; r < region.rows; ++r) {
      const std::size_t pixel = static_cast<std::size_t>(region.row + r) * g.stride * g.in_width +
                                static_cast<std::size_t>(region.column) * g.stride;
      function(g, region.channels, region.columns, task.input + pixels(pixel) + part * width, weight, bias,
               {task.rows + row_floats * r + part * width, row_floats * region.rows});
    }
  }
}

}  // namespace

std::size_t conv_forward_scratch(const ConvGeometry& geometry, const PoolEpilogue& epilogue) {
  const int columns = smaller(columns_at_once(epilogue), geometry.out_width);
  return pixels(static_cast<std::size_t>(channel_chunk) * epilogue.window * columns);
}

void conv_forward(const ConvForward& task) {
  const ConvGeometry& g = task.geometry;
  const Row function = row_function(g);
  const int window = task.epilogue.window;
  const int chunk = columns_at_once(task.epilogue);
  for (int r = 0; r < g.out_height; r += window) {
    for (int q = 0; q < g.out_width; q += chunk) {
      for (int o = 0; o < g.out_channels; o += channel_chunk) {
        const Region region{
            o, smaller(channel_chunk, g.out_channels - o), r, window, q, smaller(chunk, g.out_width - q)};
        compute_region(task, function, region);
        task.epilogue.relu ? pool_region<true>(task, region) : pool_region<false>(task, region);
      }
    }
  }
}

const DirectConvKernels direct_conv_kernels{.forward = conv_forward,
                                            .backward_data = conv_backward_data,
                                            .backward_weights = conv_backward_weights,
                                            .expand = LOCKSTEP_LEVEL::expand,
                                            .forward_scratch = conv_forward_scratch,
                                            .backward_weights_scratch = conv_backward_weights_scratch};

}  // namespace lockstep::cpu::LOCKSTEP_LEVEL
