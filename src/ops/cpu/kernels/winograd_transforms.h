#pragma once

#include "ops/cpu/kernels/kernels.h"
#include "ops/cpu/kernels/vectors.h"

/// Winograd's minimal filtering F(4 x 4, 3 x 3) (Lavin and Gray, "Fast Algorithms for Convolutional Neural
/// Networks", 2016) with the interpolation points 0, +-3/4, +-3/2 and infinity, whose rounding errors are
/// half of those of the usual 0, +-1, +-2:
///   Y = A' [(G g G') * (B' d B)] A        output from filter g and input patch d
///   dg = G' [(A dY A') * (B' d B)] G      gradient of the filter
/// The one-dimensional transforms below are applied to columns, then to rows.
namespace lockstep::cpu::LOCKSTEP_LEVEL::winograd {

constexpr int tile = 4;        ///< rows and columns of outputs
constexpr int patch = 6;       ///< rows and columns of inputs that they read
constexpr int filter = 3;      ///< rows and columns of the filter
constexpr int positions = 36;  /// products per tile and pair of channels

constexpr double a = 0.75;
constexpr double b = 1.5;
constexpr double a2 = a * a;
constexpr double b2 = b * b;
constexpr double scale_0 = 1 / (a2 * b2);
constexpr double scale_a = 1 / (2 * a2 * (a2 - b2));
constexpr double scale_b = 1 / (2 * b2 * (b2 - a2));

HWY_INLINE Vector times(Vector v, double factor) {
  return hn::Mul(v, hn::Set(floats, static_cast<float>(factor)));
}
/// v * factor + sum, rounded once.
HWY_INLINE Vector times_plus(Vector v, double factor, Vector sum) {
  return hn::MulAdd(v, hn::Set(floats, static_cast<float>(factor)), sum);
}

/// B': input patches.
struct InputTransform {
  static constexpr int inputs = patch;
  static constexpr int outputs = patch;
  HWY_INLINE static void apply(const Vector* d, Vector* o) {
    const Vector even_a = times_plus(d[2], -b2, d[4]);
    const Vector odd_a = times_plus(d[1], -b2, d[3]);
    const Vector even_b = times_plus(d[2], -a2, d[4]);
    const Vector odd_b = times_plus(d[1], -a2, d[3]);
    o[0] = times_plus(d[0], a2 * b2, times_plus(d[2], -(a2 + b2), d[4]));
    o[1] = times_plus(odd_a, a, even_a);
    o[2] = times_plus(odd_a, -a, even_a);
    o[3] = times_plus(odd_b, b, even_b);
    o[4] = times_plus(odd_b, -b, even_b);
    o[5] = times_plus(d[1], a2 * b2, times_plus(d[3], -(a2 + b2), d[5]));
  }
};

/// A': outputs from products.
struct OutputTransform {
  static constexpr int inputs = patch;
  static constexpr int outputs = tile;
  HWY_INLINE static void apply(const Vector* m, Vector* o) {
    const Vector even_a = hn::Add(m[1], m[2]);
    const Vector odd_a = hn::Sub(m[1], m[2]);
    const Vector even_b = hn::Add(m[3], m[4]);
    const Vector odd_b = hn::Sub(m[3], m[4]);
    o[0] = hn::Add(hn::Add(m[0], even_a), even_b);
    o[1] = times_plus(odd_b, b, times(odd_a, a));
    o[2] = times_plus(even_b, b2, times(even_a, a2));
    o[3] = times_plus(odd_b, b2 * b, times_plus(odd_a, a2 * a, m[5]));
  }
};

/// A: gradients of outputs.
struct GradientTransform {
  static constexpr int inputs = tile;
  static constexpr int outputs = patch;
  HWY_INLINE static void apply(const Vector* y, Vector* o) {
    const Vector even_a = times_plus(y[2], a2, y[0]);
    const Vector odd_a = times_plus(y[3], a2, y[1]);
    const Vector even_b = times_plus(y[2], b2, y[0]);
    const Vector odd_b = times_plus(y[3], b2, y[1]);
    o[0] = y[0];
    o[1] = times_plus(odd_a, a, even_a);
    o[2] = times_plus(odd_a, -a, even_a);
    o[3] = times_plus(odd_b, b, even_b);
    o[4] = times_plus(odd_b, -b, even_b);
    o[5] = y[3];
  }
};

/// G: filters.
struct FilterTransform {
  static constexpr int inputs = filter;
  static constexpr int outputs = patch;
  HWY_INLINE static void apply(const Vector* g, Vector* o) {
    const Vector even_a = times_plus(g[0], scale_a, times(g[2], scale_a * a2));
    const Vector even_b = times_plus(g[0], scale_b, times(g[2], scale_b * b2));
    o[0] = times(g[0], scale_0);
    o[1] = times_plus(g[1], scale_a * a, even_a);
    o[2] = times_plus(g[1], -scale_a * a, even_a);
    o[3] = times_plus(g[1], scale_b * b, even_b);
    o[4] = times_plus(g[1], -scale_b * b, even_b);
    o[5] = g[2];
  }
};

/// G': gradients of filters from products.
struct FilterGradientTransform {
  static constexpr int inputs = patch;
  static constexpr int outputs = filter;
  HWY_INLINE static void apply(const Vector* u, Vector* o) {
    const Vector even_a = hn::Add(u[1], u[2]);
    const Vector odd_a = hn::Sub(u[1], u[2]);
    const Vector even_b = hn::Add(u[3], u[4]);
    const Vector odd_b = hn::Sub(u[3], u[4]);
    o[0] = times_plus(u[0], scale_0, times_plus(even_a, scale_a, times(even_b, scale_b)));
    o[1] = times_plus(odd_a, scale_a * a, times(odd_b, scale_b * b));
    o[2] = times_plus(even_a, scale_a * a2, times_plus(even_b, scale_b * b2, u[5]));
  }
};

/// Both dimensions: source(row, column) is read once per element, column by column; target(row, column, v)
/// takes the results row by row.
template <class Transform, class Source, class Target>
HWY_INLINE void transform(const Source& source, const Target& target) {
  constexpr int inputs = Transform::inputs;
  constexpr int outputs = Transform::outputs;
  Vector half[outputs][inputs];
  LOCKSTEP_UNROLL for (int j = 0; j < inputs; ++j) {
    Vector column[inputs];
    Vector result[outputs];
    LOCKSTEP_UNROLL for (int i = 0; i < inputs; ++i) { column[i] = source(i, j); }
    Transform::apply(column, result);
    LOCKSTEP_UNROLL for (int i = 0; i < outputs; ++i) { half[i][j] = result[i]; }
  }
  LOCKSTEP_UNROLL for (int i = 0; i < outputs; ++i) {
    Vector result[outputs];
    Transform::apply(half[i], result);
    LOCKSTEP_UNROLL for (int j = 0; j < outputs; ++j) { target(i, j, result[j]); }
  }
}

/// Matrices of the 36 positions, a fixed distance apart.
struct Positions {
  float* data;
  std::size_t step;  ///< floats from position to position
  HWY_INLINE Vector operator()(int i, int j) const { return hn::Load(floats, data + (i * patch + j) * step); }
  HWY_INLINE void operator()(int i, int j, Vector v) const {
    hn::Store(v, floats, data + (i * patch + j) * step);
  }
};

/// Floats from position to position for matrices of `size` floats: one more cache line, so that the 36
/// vectors of a tile do not fall into the same cache sets.
HWY_INLINE std::size_t position_step(std::size_t size) { return size + lanes; }

/// Tiles in the order (group, row, column).
struct TileIndex {
  int group;
  int row;
  int column;
};

struct TileGrid {
  int rows;
  int columns;

  HWY_INLINE TileIndex at(int index) const {
    return {index / (rows * columns), index / columns % rows, index % columns};
  }
  HWY_INLINE void advance(TileIndex& index) const {
    if (++index.column == columns) {
      index.column = 0;
      if (++index.row == rows) {
        index.row = 0;
        ++index.group;
      }
    }
  }
};

HWY_INLINE TileGrid grid_of(int rows, int columns) {
  return {(rows + tile - 1) / tile, (columns + tile - 1) / tile};
}

/// One channel of one group.
struct Image {
  const float* data;
  const std::uint16_t* masks;  ///< null, or a bit per image where the value counts; zero elsewhere
  int height;
  int width;
};

/// Pixels of an image from (row, column) on, which may lie outside, where it is zero.
template <bool INSIDE, bool MASKED>
struct Window {
  Image image;
  int row;
  int column;
  int part;

  HWY_INLINE Vector operator()(int i, int j) const {
    alignas(64) static constexpr float zeros[lanes] = {};
    const int r = row + i;
    const int c = column + j;
    const bool inside = INSIDE || (static_cast<unsigned>(r) < static_cast<unsigned>(image.height) &&
                                   static_cast<unsigned>(c) < static_cast<unsigned>(image.width));
    const std::ptrdiff_t pixel = inside ? static_cast<std::ptrdiff_t>(r) * image.width + c : 0;
    const Vector v = hn::Load(floats, inside ? image.data + pixel * lanes + part * width : zeros);
    if constexpr (MASKED) {
      return hn::IfThenElseZero(load_mask(part, image.masks + pixel), v);
    } else {
      return v;
    }
  }
};

/// Calls use(window) with the window of SIZE x SIZE pixels from (row, column).
template <int SIZE, class Use>
HWY_INLINE void with_window(const Image& image, int row, int column, int part, const Use& use) {
  const bool inside = row >= 0 && column >= 0 && row + SIZE <= image.height && column + SIZE <= image.width;
  if (image.masks != nullptr) {
    use(Window<false, true>{image, row, column, part});
  } else if (inside) {
    use(Window<true, false>{image, row, column, part});
  } else {
    use(Window<false, false>{image, row, column, part});
  }
}

/// What transform_filters() does: filters of the given blocks of output and input channels.
struct FilterTask {
  const float* weight;  ///< [out][in][3][3]
  bool transposed;      ///< [in][out][3][3] instead, turned by 180 degrees
  int out_channels;
  int in_channels;
  int first_output;
  int outputs;
  int first_channel;
  int channels;
  float* result;  ///< [36][outputs / output_block][channels][output_block], zeros after the last output
  std::size_t position_step;
};

/// Output channels in a register block.
constexpr int output_block = many_registers ? 8 : 4;

/// `count` output channels, rounded up to whole vectors of filters.
HWY_INLINE int padded_outputs(int count) {
  const int unit = larger(width, output_block);
  return (count + unit - 1) / unit * unit;
}

void transform_filters(const FilterTask& task);

}  // namespace lockstep::cpu::LOCKSTEP_LEVEL::winograd
