#pragma once

#include <type_traits>

#include "ops/cpu/kernels/kernels.h"
#include "ops/cpu/kernels/vectors.h"

/// Winograd's minimal filtering F(4 x 4, 3 x 3) (Lavin and Gray, "Fast Algorithms for Convolutional Neural
/// Networks", 2016) with the interpolation points 0, 3/4, -3/4, 3/2, infinity and -3/2, whose rounding errors
/// are half of those of the usual 0, +-1, +-2:
///   Y = A' [(G g G') * (B' d B)] A        output from filter g and input patch d
///   dg = G' [(A dY A') * (B' d B)] G      gradient of the filter
/// The one-dimensional transforms below are applied to columns, then to rows.
///
/// Rows that four does not divide are cut into tiles of four and of three, columns too: 7 = 4 + 3. A tile of
/// three, F(3, 3), leaves out the last point. Its G is the same for the others, so that transformed filters
/// serve all tiles; the factor by which G's rows would differ, point + 3/2, is part of its B'.
namespace lockstep::cpu::LOCKSTEP_LEVEL::winograd {

constexpr int large = 4;       ///< rows and columns of outputs of a large tile
constexpr int small = 3;       ///< and of a small one
constexpr int patch = 6;       ///< rows and columns of inputs that they read; points
constexpr int filter = 3;      ///< rows and columns of the filter
constexpr int positions = 36;  ///< pairs of points: products per tile and pair of channels

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

/// B': input patches of tiles of SIZE outputs.
template <int SIZE>
struct InputTransform;

template <>
struct InputTransform<4> {
  static constexpr int inputs = 6;
  static constexpr int outputs = 6;
  HWY_INLINE static void apply(const Vector* d, Vector* o) {
    const Vector even_a = times_plus(d[2], -b2, d[4]);
    const Vector odd_a = times_plus(d[1], -b2, d[3]);
    const Vector even_b = times_plus(d[2], -a2, d[4]);
    const Vector odd_b = times_plus(d[1], -a2, d[3]);
    o[0] = times_plus(d[0], a2 * b2, times_plus(d[2], -(a2 + b2), d[4]));
    o[1] = times_plus(odd_a, a, even_a);
    o[2] = times_plus(odd_a, -a, even_a);
    o[3] = times_plus(odd_b, b, even_b);
    o[4] = times_plus(d[1], a2 * b2, times_plus(d[3], -(a2 + b2), d[5]));
    o[5] = times_plus(odd_b, -b, even_b);
  }
};

template <>
struct InputTransform<3> {
  static constexpr int inputs = 5;
  static constexpr int outputs = 5;
  HWY_INLINE static void apply(const Vector* d, Vector* o) {
    const Vector even_a = times_plus(d[2], -b, d[3]);
    const Vector odd_a = times_plus(d[1], -b, d[2]);
    o[0] = times_plus(d[0], a2 * b2, times_plus(d[1], -a2 * b, times_plus(d[2], -b2, times(d[3], b))));
    o[1] = times_plus(odd_a, a * (b + a), times(even_a, b + a));
    o[2] = times_plus(odd_a, -a * (b - a), times(even_a, b - a));
    o[3] = times_plus(d[1], -2 * b * a2, times(d[3], 2 * b));
    o[4] = times_plus(d[1], a2 * b, times_plus(d[2], -a2, times_plus(d[3], -b, d[4])));
  }
};

/// A': outputs from products.
template <int SIZE>
struct OutputTransform;

template <>
struct OutputTransform<4> {
  static constexpr int inputs = 6;
  static constexpr int outputs = 4;
  HWY_INLINE static void apply(const Vector* m, Vector* o) {
    const Vector even_a = hn::Add(m[1], m[2]);
    const Vector odd_a = hn::Sub(m[1], m[2]);
    const Vector even_b = hn::Add(m[3], m[5]);
    const Vector odd_b = hn::Sub(m[3], m[5]);
    o[0] = hn::Add(hn::Add(m[0], even_a), even_b);
    o[1] = times_plus(odd_b, b, times(odd_a, a));
    o[2] = times_plus(even_b, b2, times(even_a, a2));
    o[3] = times_plus(odd_b, b2 * b, times_plus(odd_a, a2 * a, m[4]));
  }
};

template <>
struct OutputTransform<3> {
  static constexpr int inputs = 5;
  static constexpr int outputs = 3;
  HWY_INLINE static void apply(const Vector* m, Vector* o) {
    const Vector even_a = hn::Add(m[1], m[2]);
    const Vector odd_a = hn::Sub(m[1], m[2]);
    o[0] = hn::Add(hn::Add(m[0], even_a), m[3]);
    o[1] = times_plus(m[3], b, times(odd_a, a));
    o[2] = times_plus(m[3], b2, times_plus(even_a, a2, m[4]));
  }
};

/// A: gradients of outputs.
template <int SIZE>
struct GradientTransform;

template <>
struct GradientTransform<4> {
  static constexpr int inputs = 4;
  static constexpr int outputs = 6;
  HWY_INLINE static void apply(const Vector* y, Vector* o) {
    const Vector even_a = times_plus(y[2], a2, y[0]);
    const Vector odd_a = times_plus(y[3], a2, y[1]);
    const Vector even_b = times_plus(y[2], b2, y[0]);
    const Vector odd_b = times_plus(y[3], b2, y[1]);
    o[0] = y[0];
    o[1] = times_plus(odd_a, a, even_a);
    o[2] = times_plus(odd_a, -a, even_a);
    o[3] = times_plus(odd_b, b, even_b);
    o[4] = y[3];
    o[5] = times_plus(odd_b, -b, even_b);
  }
};

template <>
struct GradientTransform<3> {
  static constexpr int inputs = 3;
  static constexpr int outputs = 5;
  HWY_INLINE static void apply(const Vector* y, Vector* o) {
    const Vector even_a = times_plus(y[2], a2, y[0]);
    o[0] = y[0];
    o[1] = times_plus(y[1], a, even_a);
    o[2] = times_plus(y[1], -a, even_a);
    o[3] = times_plus(y[1], b, times_plus(y[2], b2, y[0]));
    o[4] = y[2];
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
    o[4] = g[2];
    o[5] = times_plus(g[1], -scale_b * b, even_b);
  }
};

/// G': gradients of filters from products.
struct FilterGradientTransform {
  static constexpr int inputs = patch;
  static constexpr int outputs = filter;
  HWY_INLINE static void apply(const Vector* u, Vector* o) {
    const Vector even_a = hn::Add(u[1], u[2]);
    const Vector odd_a = hn::Sub(u[1], u[2]);
    const Vector even_b = hn::Add(u[3], u[5]);
    const Vector odd_b = hn::Sub(u[3], u[5]);
    o[0] = times_plus(u[0], scale_0, times_plus(even_a, scale_a, times(even_b, scale_b)));
    o[1] = times_plus(odd_a, scale_a * a, times(odd_b, scale_b * b));
    o[2] = times_plus(even_a, scale_a * a2, times_plus(even_b, scale_b * b2, u[4]));
  }
};

/// Both dimensions: source(row, column) is read once per element, column by column; target(row, column, v)
/// takes the results row by row.
template <class OfColumns, class OfRows, class Source, class Target>
HWY_INLINE void transform(const Source& source, const Target& target) {
  Vector half[OfColumns::outputs][OfRows::inputs];
  LOCKSTEP_UNROLL for (int j = 0; j < OfRows::inputs; ++j) {
    Vector column[OfColumns::inputs];
    Vector result[OfColumns::outputs];
    LOCKSTEP_UNROLL for (int i = 0; i < OfColumns::inputs; ++i) { column[i] = source(i, j); }
    OfColumns::apply(column, result);
    LOCKSTEP_UNROLL for (int i = 0; i < OfColumns::outputs; ++i) { half[i][j] = result[i]; }
  }
  LOCKSTEP_UNROLL for (int i = 0; i < OfColumns::outputs; ++i) {
    Vector result[OfRows::outputs];
    OfRows::apply(half[i], result);
    LOCKSTEP_UNROLL for (int j = 0; j < OfRows::outputs; ++j) { target(i, j, result[j]); }
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

/// Sizes of tiles: rows x columns.
enum TileKind : int { four_by_four, four_by_three, three_by_four, three_by_three };
constexpr int tile_kinds = 4;

constexpr int rows_of(int kind) { return kind < three_by_four ? large : small; }
constexpr int columns_of(int kind) { return kind % 2 == 0 ? large : small; }

/// Calls use(rows, columns) with a tile's size as integral constants.
template <class Use>
HWY_INLINE void with_size(int kind, const Use& use) {
  constexpr std::integral_constant<int, large> four;
  constexpr std::integral_constant<int, small> three;
  switch (kind) {
    case four_by_four:
      return use(four, four);
    case four_by_three:
      return use(four, three);
    case three_by_four:
      return use(three, four);
    default:
      return use(three, three);
  }
}

/// Kinds of positions, by the tiles that have them: with the point -3/2 in neither dimension, in rows, in
/// columns, in both.
constexpr int position_kinds = 4;

HWY_INLINE int position_kind(int i, int j) { return (i == patch - 1 ? 2 : 0) + (j == patch - 1 ? 1 : 0); }
HWY_INLINE int position_kind(int position) { return position_kind(position / patch, position % patch); }

/// Whether tiles of a kind have positions of another: where the tile is small, the point must not be the
/// last.
constexpr bool has_positions(int tile_kind, int position_kind) { return (tile_kind & position_kind) == 0; }

/// First output pixel of a tile.
struct Tile {
  int group;
  int row;
  int column;
};

/// Tiles along one dimension: large ones, then small ones.
struct Split {
  int fours;
  int threes;

  /// With as few tiles as fours alone; the last one may go beyond the end.
  HWY_INLINE static Split of(int pixels) {
    const int tiles = (pixels + large - 1) / large;
    const int threes = smaller(tiles * large - pixels, tiles);
    return {tiles - threes, threes};
  }
  HWY_INLINE int tiles() const { return fours + threes; }
};

/// All tiles of some groups of images, in the order (kind, group, row, column).
struct TileGrid {
  Split rows;
  Split columns;
  int groups;

  HWY_INLINE static TileGrid of(int height, int width, int groups) {
    return {Split::of(height), Split::of(width), groups};
  }
  HWY_INLINE int tiles() const { return groups * rows.tiles() * columns.tiles(); }
  HWY_INLINE int rows_of_tiles(int kind) const { return rows_of(kind) == large ? rows.fours : rows.threes; }
  HWY_INLINE int columns_of_tiles(int kind) const {
    return columns_of(kind) == large ? columns.fours : columns.threes;
  }
  HWY_INLINE int tiles(int kind) const { return groups * rows_of_tiles(kind) * columns_of_tiles(kind); }

  /// Tile `index` of a kind.
  HWY_INLINE Tile at(int kind, int index) const {
    const int in_row = columns_of_tiles(kind);
    const int in_column = rows_of_tiles(kind);
    return {index / (in_row * in_column), first_row(kind) + index / in_row % in_column * rows_of(kind),
            first_column(kind) + index % in_row * columns_of(kind)};
  }
  HWY_INLINE void advance(int kind, Tile& tile) const {
    tile.column += columns_of(kind);
    if (tile.column == first_column(kind) + columns_of_tiles(kind) * columns_of(kind)) {
      tile.column = first_column(kind);
      tile.row += rows_of(kind);
      if (tile.row == first_row(kind) + rows_of_tiles(kind) * rows_of(kind)) {
        tile.row = first_row(kind);
        ++tile.group;
      }
    }
  }

 private:
  HWY_INLINE int first_row(int kind) const { return rows_of(kind) == large ? 0 : rows.fours * large; }
  HWY_INLINE int first_column(int kind) const {
    return columns_of(kind) == large ? 0 : columns.fours * large;
  }
};

/// Some tiles one after the other, whose products are computed together. Matrices of a position hold the
/// tiles that have it, side by side.
struct Run {
  TileGrid grid;
  int first[tile_kinds];  ///< index among the tiles of a kind
  int tiles[tile_kinds];
  int before[position_kinds][tile_kinds];  ///< tiles in front of those of a kind
  int all[position_kinds];                 ///< tiles that have positions of this kind

  /// At most `count` tiles from tile `begin` of the grid on.
  HWY_INLINE static Run of(const TileGrid& grid, int begin, int count) {
    Run run{grid, {}, {}, {}, {}};
    int end = begin + count;
    for (int kind = 0; kind < tile_kinds; ++kind) {
      const int size = grid.tiles(kind);
      run.first[kind] = smaller(begin, size);
      run.tiles[kind] = smaller(end, size) - run.first[kind];
      begin = larger(begin - size, 0);
      end = larger(end - size, 0);
      for (int p = 0; p < position_kinds; ++p) {
        run.before[p][kind] = run.all[p];
        run.all[p] += has_positions(kind, p) ? run.tiles[kind] : 0;
      }
    }
    return run;
  }

  /// Calls use(tile, its number among those of its kind in this run).
  template <class Use>
  HWY_INLINE void for_each_tile(int kind, const Use& use) const {
    if (tiles[kind] == 0) {
      return;
    }
    Tile tile = grid.at(kind, first[kind]);
    for (int t = 0; t < tiles[kind]; ++t, grid.advance(kind, tile)) {
      use(tile, t);
    }
  }
};

/// A vector of one tile in the matrices of its positions: [36][rows][tiles that have the position][16].
struct TilePositions {
  float* data;
  std::size_t step;  ///< floats from position to position
  std::ptrdiff_t place[position_kinds];

  /// `row` and the tile's number in the run choose the vector of 16 values, `part` its part.
  HWY_INLINE static TilePositions of(const Positions& matrices, const Run& run, int kind, int row, int number,
                                     int part) {
    TilePositions result{matrices.data, matrices.step, {}};
    LOCKSTEP_UNROLL for (int p = 0; p < position_kinds; ++p) {
      const std::ptrdiff_t tile =
          static_cast<std::ptrdiff_t>(row) * run.all[p] + run.before[p][kind] + number;
      result.place[p] = tile * lanes + part * width;
    }
    return result;
  }
  HWY_INLINE float* at(int i, int j) const {
    return data + (i * patch + j) * step + place[position_kind(i, j)];
  }
  HWY_INLINE Vector operator()(int i, int j) const { return hn::Load(floats, at(i, j)); }
  HWY_INLINE void operator()(int i, int j, Vector v) const { hn::Store(v, floats, at(i, j)); }
};

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

/// Calls use(window) with the window of ROWS x COLUMNS pixels from (row, column).
template <int ROWS, int COLUMNS, class Use>
HWY_INLINE void with_window(const Image& image, int row, int column, int part, const Use& use) {
  const bool inside =
      row >= 0 && column >= 0 && row + ROWS <= image.height && column + COLUMNS <= image.width;
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
