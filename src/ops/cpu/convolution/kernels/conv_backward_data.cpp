#include "ops/cpu/convolution/kernels/direct_conv.h"
#include "ops/cpu/kernels/vectors.h"

namespace lockstep::cpu::LOCKSTEP_LEVEL {
namespace {

/// Kernel rows that contribute to the gradient of one input row: first, first + stride, ... <= last.
struct KernelRows {
  int first;
  int last;
};

KernelRows kernel_rows(const ConvGeometry& g, int row) {
  int first = larger(0, row - (g.out_height - 1) * g.stride);
  first += (row - first) % g.stride;
  return {first, smaller(g.kernel - 1, row)};
}

/// One row of the padded input's gradient, for all channels and one part of the images.
struct RowTask {
  const ConvGeometry& geometry;
  const float* grad_output;
  const float* weight;
  int row;
  float* data;
  std::size_t plane;  ///< stride of channels in `data`, in floats
};

/// Number of input channels for which the columns that P gradient pixels contribute to fit into registers.
constexpr int channels_per_tile(int kernel, int stride, int p) {
  const int columns = (p - 1) * stride + kernel;
  const int fitting = many_registers ? 30 / (columns + 2) : 14 / (columns + 1);  // including weights
  return fitting < 1 ? 1 : fitting > 4 ? 4 : fitting;
}

/// Adds the contributions of P gradient pixels of a row to CB input channels, whose columns stay in
/// registers. If there are enough sums to hide the latency, processes kernel columns in pairs to save loads,
/// and visits pixels from last to first, so that every sum still adds kernel columns in ascending order.
template <int KW, int ST, int CB, int P>
HWY_NOINLINE void tile(const RowTask& task, int channel, int column) {
  constexpr int columns = (P - 1) * ST + KW;
  constexpr int together = many_registers && KW > 1 && CB > 1 ? 2 : 1;
  const ConvGeometry& g = task.geometry;
  const KernelRows rows = kernel_rows(g, task.row);
  const std::size_t kernel = static_cast<std::size_t>(g.kernel) * KW;
  const std::size_t row_floats = pixels(g.out_width);
  float* target = task.data + channel * task.plane + pixels(column) * ST;
  Vector sum[CB][columns];
  LOCKSTEP_UNROLL for (int c = 0; c < CB; ++c) {
    LOCKSTEP_UNROLL for (int t = 0; t < columns; ++t) {
      sum[c][t] = hn::Load(floats, target + c * task.plane + pixels(t));
    }
  }
  const int outputs = g.out_channels;
  const std::size_t filters = g.in_channels * kernel;
  const std::size_t plane_floats = row_floats * g.out_height;
  const float* weight = task.weight + channel * kernel;
  const float* plane = task.grad_output + pixels(column);
  const int row = task.row;
  for (int o = 0; o < outputs; ++o, weight += filters, plane += plane_floats) {
    for (int kh = rows.first; kh <= rows.last; kh += ST) {
      const float* grad = plane + row_floats * ((row - kh) / ST);
      LOCKSTEP_UNROLL for (int kw = 0; kw < KW; kw += together) {
        Vector factor[CB][together];
        LOCKSTEP_UNROLL for (int c = 0; c < CB; ++c) {
          LOCKSTEP_UNROLL for (int j = 0; j < together; ++j) {
            factor[c][j] = hn::Set(floats, weight[c * kernel + kh * KW + smaller(kw + j, KW - 1)]);
          }
        }
        grad = opaque(grad);
        LOCKSTEP_UNROLL for (int p = P - 1; p >= 0; --p) {
          const Vector pixel = hn::Load(floats, grad + pixels(p));
          LOCKSTEP_UNROLL for (int j = 0; j < together; ++j) {
            LOCKSTEP_UNROLL for (int c = 0; c < CB; ++c) {
              if (kw + j < KW) {
                Vector& s = sum[c][p * ST + kw + j];
                s = hn::MulAdd(pixel, factor[c][j], s);
              }
            }
          }
        }
      }
    }
  }
  LOCKSTEP_UNROLL for (int c = 0; c < CB; ++c) {
    LOCKSTEP_UNROLL for (int t = 0; t < columns; ++t) {
      hn::Store(sum[c][t], floats, target + c * task.plane + pixels(t));
    }
  }
}

/// Computes a row for any kernel and stride, with sums in memory.
void scatter_row(const RowTask& task) {
  const ConvGeometry& g = task.geometry;
  const KernelRows rows = kernel_rows(g, task.row);
  const std::size_t row_floats = pixels(g.out_width);
  for (int c = 0; c < g.in_channels; ++c) {
    for (int o = 0; o < g.out_channels; ++o) {
      const std::size_t filter = static_cast<std::size_t>(o) * g.in_channels + c;
      for (int kh = rows.first; kh <= rows.last; kh += g.stride) {
        const float* weight = task.weight + (filter * g.kernel + kh) * g.kernel;
        const float* grad = task.grad_output + row_floats * (static_cast<std::size_t>(o) * g.out_height +
                                                             (task.row - kh) / g.stride);
        for (int kw = 0; kw < g.kernel; ++kw) {
          const Vector factor = hn::Set(floats, weight[kw]);
          float* target = task.data + c * task.plane + pixels(kw);
          for (int q = 0; q < g.out_width; ++q, target += pixels(g.stride)) {
            const Vector pixel = hn::Load(floats, grad + pixels(q));
            hn::Store(hn::MulAdd(pixel, factor, hn::Load(floats, target)), floats, target);
          }
        }
      }
    }
  }
}

template <int KW, int ST, int P>
int tiles(const RowTask& task, int column) {
  constexpr int block = channels_per_tile(KW, ST, P);
  const int channels = task.geometry.in_channels;
  for (; column + P <= task.geometry.out_width; column += P) {
    int c = 0;
    for (; c + block <= channels; c += block) {
      tile<KW, ST, block, P>(task, c, column);
    }
    if constexpr (block > 2) {
      for (; c + 2 <= channels; c += 2) {
        tile<KW, ST, 2, P>(task, c, column);
      }
    }
    for (; c < channels; ++c) {
      tile<KW, ST, 1, P>(task, c, column);
    }
  }
  return column;
}

template <int KW, int ST>
void row(const RowTask& task) {
  int column = 0;
  if constexpr (ST == 1) {
    column = tiles<KW, ST, 8>(task, column);
  }
  column = tiles<KW, ST, 4>(task, column);
  column = tiles<KW, ST, 2>(task, column);
  tiles<KW, ST, 1>(task, column);
}

using Row = void (*)(const RowTask&);

Row row_function(const ConvGeometry& g) {
  const bool two = g.stride == 2;
  if (g.stride > 2) {
    return scatter_row;
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
      return scatter_row;
  }
}

void copy(const float* from, std::size_t count, float* to) {
  for (std::size_t i = 0; i < count; i += width) {
    hn::Store(hn::Load(floats, from + i), floats, to + i);
  }
}

/// Adds row `row` (in padded coordinates) to `data`, which holds zeros.
void all_parts(const ConvBackwardData& task, Row function, int row, float* data, std::size_t plane) {
  for (int part = 0; part < parts; ++part) {
    function({task.geometry, task.grad_output + part * width, task.weight, row, data + part * width, plane});
  }
}

}  // namespace

void conv_backward_data(const ConvBackwardData& task) {
  const ConvGeometry& g = task.geometry;
  const Row function = row_function(g);
  const int height = g.in_height - 2 * task.padding;
  const std::size_t row_floats = pixels(g.in_width - 2 * task.padding);
  const std::size_t plane = row_floats * height;
  if (task.padding == 0) {
    clear(task.grad_input, plane * g.in_channels);
    for (int r = 0; r < height; ++r) {
      all_parts(task, function, r, task.grad_input + row_floats * r, plane);
    }
    return;
  }
  const std::size_t padded = pixels(g.in_width);
  for (int r = 0; r < height; ++r) {
    clear(task.row, padded * g.in_channels);
    all_parts(task, function, r + task.padding, task.row, padded);
    for (int c = 0; c < g.in_channels; ++c) {
      copy(task.row + padded * c + pixels(task.padding), row_floats,
           task.grad_input + plane * c + row_floats * r);
    }
  }
}

}  // namespace lockstep::cpu::LOCKSTEP_LEVEL
