#pragma once

#include <type_traits>

#include "ops/cpu/convolution/kernels/winograd_transforms.h"
#include "ops/cpu/kernels/storage.h"

/// Tiles of images, and the layout of the tiles' products.
namespace lockstep::cpu::LOCKSTEP_LEVEL::winograd {

/// Sizes of tiles: rows x columns.
enum TileKind : int { four_by_four, four_by_three, three_by_four, three_by_three };
constexpr int tile_kinds = 4;

constexpr int rows_of(int kind) { return kind < three_by_four ? large : small; }
constexpr int columns_of(int kind) { return kind % 2 == 0 ? large : small; }

/// Number of kinds of positions: the point -3/2 occurs in neither dimension, in columns only, in rows only,
/// or in both.
constexpr int position_kinds = 4;

HWY_INLINE int position_kind(int i, int j) { return (i == patch - 1 ? 2 : 0) + (j == patch - 1 ? 1 : 0); }
HWY_INLINE int position_kind(int position) { return position_kind(position / patch, position % patch); }

/// Whether tiles of kind `tile_kind` have positions of kind `position_kind`: small dimensions lack the last
/// point.
constexpr bool has_positions(int tile_kind, int position_kind) { return (tile_kind & position_kind) == 0; }

/// First output pixel of a tile.
struct Tile {
  int group;
  int row;
  int column;
};

/// Division of one dimension into large tiles, followed by small tiles.
struct Split {
  int fours;
  int threes;

  /// Uses as many tiles as if all tiles were large. The last tile may extend beyond the end.
  HWY_INLINE static Split of(int pixels) {
    const int tiles = (pixels + large - 1) / large;
    const int threes = smaller(tiles * large - pixels, tiles);
    return {tiles - threes, threes};
  }
  HWY_INLINE int tiles() const { return fours + threes; }
  /// Number of tiles of size `size`, and first pixel of these tiles.
  HWY_INLINE int tiles(int size) const { return size == large ? fours : threes; }
  HWY_INLINE int begin(int size) const { return size == large ? 0 : fours * large; }
};

/// All tiles of `groups` groups of images, in the order (kind, group, row, column).
struct TileGrid {
  Split rows;
  Split columns;
  int groups;

  HWY_INLINE static TileGrid of(int height, int width, int groups) {
    return {Split::of(height), Split::of(width), groups};
  }
  HWY_INLINE int tiles() const { return groups * rows.tiles() * columns.tiles(); }
  HWY_INLINE int tiles(int kind) const {
    return groups * rows.tiles(rows_of(kind)) * columns.tiles(columns_of(kind));
  }

  /// Tile `index` among the tiles of kind `kind`.
  HWY_INLINE Tile at(int kind, int index) const {
    const int tile_rows = rows_of(kind);
    const int tile_columns = columns_of(kind);
    const int in_row = columns.tiles(tile_columns);
    const int in_column = rows.tiles(tile_rows);
    return {index / (in_row * in_column), rows.begin(tile_rows) + index / in_row % in_column * tile_rows,
            columns.begin(tile_columns) + index % in_row * tile_columns};
  }
  HWY_INLINE void advance(int kind, Tile& tile) const {
    const int tile_rows = rows_of(kind);
    const int tile_columns = columns_of(kind);
    tile.column += tile_columns;
    if (tile.column == columns.begin(tile_columns) + columns.tiles(tile_columns) * tile_columns) {
      tile.column = columns.begin(tile_columns);
      tile.row += tile_rows;
      if (tile.row == rows.begin(tile_rows) + rows.tiles(tile_rows) * tile_rows) {
        tile.row = rows.begin(tile_rows);
        ++tile.group;
      }
    }
  }
};

/// Consecutive tiles whose products are computed together. The matrix of a position contains, side by side,
/// the tiles that have this position.
struct Run {
  TileGrid grid;
  int first[tile_kinds];  ///< index among the grid's tiles of a kind
  int tiles[tile_kinds];
  int before[position_kinds][tile_kinds];  ///< number of tiles of earlier kinds in a position's matrix
  int all[position_kinds];                 ///< number of all tiles in a position's matrix

  /// Run of at most `count` tiles, beginning with tile `begin` of the grid.
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

  /// Calls use(kind, rows, columns), with rows and columns as integral constants, for every kind in the run.
  template <class Use>
  HWY_INLINE void for_each_kind(const Use& use) const {
    constexpr std::integral_constant<int, large> four;
    constexpr std::integral_constant<int, small> three;
    if (tiles[four_by_four] > 0) use(four_by_four, four, four);
    if (tiles[four_by_three] > 0) use(four_by_three, four, three);
    if (tiles[three_by_four] > 0) use(three_by_four, three, four);
    if (tiles[three_by_three] > 0) use(three_by_three, three, three);
  }

  /// Calls use(tile, number) for the run's tiles of kind `kind`, numbered from 0.
  template <class Use>
  HWY_INLINE void for_each_tile(int kind, const Use& use) const {
    Tile tile = grid.at(kind, first[kind]);
    for (int t = 0; t < tiles[kind]; ++t, grid.advance(kind, tile)) {
      use(tile, t);
    }
  }
};

/// One vector of a tile in the matrices of the tile's positions: [36][rows][tiles with this position][16].
struct TilePositions {
  float* data;
  std::size_t step;                      ///< stride of positions, in floats
  std::ptrdiff_t place[position_kinds];  ///< offset of the vector in a matrix, in floats

  /// `row` and the tile's number in the run select 16 values; `part` selects a vector of these values.
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

/// One channel of one group of images.
template <class Element>
struct Image {
  const Element* data;
  const std::uint16_t* masks;  ///< images whose bit is 0 are read as 0; may be null
  int height;
  int width;
};

/// Pixels of an image from (row, column) on. Pixels outside the image are zero. INSIDE: whether the caller
/// reads no pixels outside the image.
template <bool INSIDE, bool MASKED, class Element>
struct Window {
  Image<Element> image;
  int row;
  int column;
  int part;

  HWY_INLINE Vector operator()(int i, int j) const {
    alignas(64) static constexpr Element zeros[lanes] = {};
    const int r = row + i;
    const int c = column + j;
    const bool inside = INSIDE || (static_cast<unsigned>(r) < static_cast<unsigned>(image.height) &&
                                   static_cast<unsigned>(c) < static_cast<unsigned>(image.width));
    const std::ptrdiff_t pixel = inside ? static_cast<std::ptrdiff_t>(r) * image.width + c : 0;
    const Vector v = load(inside ? image.data + pixel * lanes + part * width : zeros);
    if constexpr (MASKED) {
      return hn::IfThenElseZero(load_mask(part, image.masks + pixel), v);
    } else {
      return v;
    }
  }
};

/// Calls use(window) with a window of ROWS x COLUMNS pixels that begins at (row, column).
template <int ROWS, int COLUMNS, class Element, class Use>
HWY_INLINE void with_window(const Image<Element>& image, int row, int column, int part, const Use& use) {
  const bool inside =
      row >= 0 && column >= 0 && row + ROWS <= image.height && column + COLUMNS <= image.width;
  if (image.masks != nullptr) {
    use(Window<false, true, Element>{image, row, column, part});
  } else if (inside) {
    use(Window<true, false, Element>{image, row, column, part});
  } else {
    use(Window<false, false, Element>{image, row, column, part});
  }
}

}  // namespace lockstep::cpu::LOCKSTEP_LEVEL::winograd
