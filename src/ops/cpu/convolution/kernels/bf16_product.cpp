#include "ops/cpu/convolution/kernels/bf16_product.h"

#if defined(__AMX_BF16__)
#include "ops/cpu/convolution/kernels/bf16_tiles_amx.h"
#else
#include "ops/cpu/convolution/kernels/bf16_tiles_floats.h"
#endif

namespace lockstep::cpu::LOCKSTEP_LEVEL {
namespace {

/// Calls multiply_tiles() for `rows` x `columns` tiles, each 1 or 2.
HWY_INLINE void multiply_some_tiles(int rows, int columns, const std::byte* left, const std::byte* right,
                                    int steps, float* const (&sums)[2][2], std::size_t stride, bool start) {
  if (rows == 2) {
    columns == 2 ? multiply_tiles<2, 2>(left, right, steps, sums, stride, start)
                 : multiply_tiles<2, 1>(left, right, steps, sums, stride, start);
  } else {
    columns == 2 ? multiply_tiles<1, 2>(left, right, steps, sums, stride, start)
                 : multiply_tiles<1, 1>(left, right, steps, sums, stride, start);
  }
}

/// Loads up to `count` floats and rounds them to bf16, in the lower halves of 32-bit lanes; other lanes are
/// zeros.
HWY_INLINE PairVector load_rounded(const float* from, int count) {
  if (count >= width) return round_to_upper(hn::LoadU(floats, from));
  return count <= 0 ? hn::Zero(pair_lanes) : round_to_upper(load_some(from, count));
}

/// Packs a tile of `rows` x `products` adjacent factors, whose rows are `stride` floats apart.
void pack_rows(const float* weight, std::size_t stride, int rows, int products, std::byte* left) {
  put_rows(
      [&](std::uint16_t* tile) HWY_ATTR {
        for (int i = 0; i < tile_size; ++i) {
          const int count = i < rows ? products : 0;
          for (int k = 0; k < step_products; k += width) {
            const auto rounded = load_rounded(count > 0 ? weight + i * stride + k : weight, count - k);
            hn::StoreU(hn::TruncateTo(half_lanes, rounded), half_lanes, tile + i * step_products + k);
          }
        }
      },
      left);
}

/// Packs a tile of factors whose rows are adjacent, and whose products are `stride` floats apart.
void pack_columns(const float* weight, std::size_t stride, int rows, int products, std::byte* left) {
  PairTile tile;
  for (int k = 0; k < step_products; k += 2) {
    for (int i = 0; i < tile_size; i += width) {
      const auto even = load_rounded(weight + k * stride + i, k < products ? rows - i : 0);
      const auto odd = load_rounded(weight + (k + 1) * stride + i, k + 1 < products ? rows - i : 0);
      hn::Store(hn::Or(even, hn::ShiftLeft<16>(odd)), pair_lanes, tile.data + k / 2 * tile_size + i);
    }
  }
  put_pairs(tile, left);
}

/// Packs a tile of factors of several taps, beginning with (tap, source) number `first`.
void pack_scattered(const PackFactors& task, int row, int first, int rows, int products, std::byte* left) {
  std::size_t places[step_products];
  for (int k = 0; k < products; ++k) {
    places[k] =
        task.taps[(first + k) / task.sources].weight + (first + k) % task.sources * task.source_stride;
  }
  HWY_ALIGN float values[tile_size * step_products];
  for (int i = 0; i < rows; ++i) {
    const float* const from = task.weight + (row + i) * task.row_stride;
    for (int k = 0; k < products; ++k) values[i * step_products + k] = from[places[k]];
  }
  pack_rows(values, step_products, rows, products, left);
}

void pack_factors(const PackFactors& task) {
  std::byte* left = task.left;
  const int all = task.tap_count * task.sources;
  for (int row = 0; row < task.rows; row += tile_size) {
    const int rows = smaller(tile_size, task.rows - row);
    for (int first = 0; first < all; first += step_products, left += tile_bytes) {
      const int products = smaller(step_products, all - first);
      const float* const weight =
          task.weight + task.taps[0].weight + row * task.row_stride + first * task.source_stride;
      if (task.tap_count == 1 && task.source_stride == 1) {
        pack_rows(weight, task.row_stride, rows, products, left);
      } else if (task.tap_count == 1 && task.row_stride == 1) {
        pack_columns(weight, task.source_stride, rows, products, left);
      } else {
        pack_scattered(task, row, first, rows, products, left);
      }
    }
  }
}

/// The same element of every grid pixel.
struct SourceElement {
  const Bfloat16* data;
  const std::int32_t* places;  ///< null: the element is missing, read as zeros
};

SourceElement element_of(const GridSource& source, int number) {
  if (number >= source.taps * source.channels) return {source.data, nullptr};
  return {source.data + pixels(number % source.channels * source.plane),
          source.places + static_cast<std::size_t>(number / source.channels) * source.pixels};
}

/// Address of an element of a pixel; null if the element is zeros.
HWY_INLINE const std::uint16_t* images_of(const SourceElement& element, int pixel) {
  if (element.places == nullptr || element.places[pixel] < 0) return nullptr;
  return reinterpret_cast<const std::uint16_t*>(element.data + pixels(element.places[pixel]));
}

HWY_INLINE hn::Vec<HalfLanes> load_or_zeros(const std::uint16_t* images, int part) {
  return images == nullptr ? hn::Zero(half_lanes) : hn::LoadU(half_lanes, images + part);
}

/// Packs grid pixels [first, first + count) to right[pixel][step][tile].
void pack_pixels(const GridSource& source, int first, int count, std::byte* right) {
  const int steps = whole_steps(source.taps * source.channels);
  for (int number = 0; number < steps * step_products; number += 2) {
    const SourceElement even = element_of(source, number);
    const SourceElement odd = element_of(source, number + 1);
    std::byte* tile = right + static_cast<std::size_t>(number / step_products) * tile_bytes;
    for (int i = first; i < first + count; ++i, tile += steps * tile_bytes) {
      const std::uint16_t* const from[2] = {images_of(even, i), images_of(odd, i)};
      for (int part = 0; part < lanes; part += width) {
        const auto lower = hn::PromoteTo(pair_lanes, load_or_zeros(from[0], part));
        const auto upper = hn::PromoteTo(pair_lanes, load_or_zeros(from[1], part));
        put_pair(hn::Or(lower, hn::ShiftLeft<16>(upper)), number % step_products / 2, part, tile);
      }
    }
  }
}

/// Tiles of sums for a block of pixels.
struct SumTiles {
  HWY_ALIGN float data[2][2][tile_floats];
};

void start_with_bias(const PixelProduct& task, int row, float* tile) {
  for (int i = 0; i < tile_size; ++i, tile += tile_size) {
    const Vector bias = hn::Set(floats, row + i < task.rows ? task.bias[row + i] : 0.0F);
    for (int part = 0; part < tile_size; part += width) hn::Store(bias, floats, tile + part);
  }
}

void write_pixel(const PixelProduct& task, int row, int pixel, const float* tile) {
  const int count = smaller(tile_size, task.rows - row);
  Bfloat16* to = task.target + pixels(row * task.target_plane + task.targets[pixel]);
  for (int i = 0; i < count; ++i, tile += tile_size, to += pixels(task.target_plane)) store_row(tile, to);
}

/// Computes `rows` tiles of rows, from tile `row` on, for `columns` grid pixels; 1 or 2 of each. `right`: the
/// packed pixels.
void multiply_block(const PixelProduct& task, int row, int rows, int pixel, int columns,
                    const std::byte* right) {
  const int steps = whole_steps(task.source.taps * task.source.channels);
  SumTiles sums;
  float* const tiles[2][2] = {{sums.data[0][0], sums.data[0][1]}, {sums.data[1][0], sums.data[1][1]}};
  for (int i = 0; task.bias != nullptr && i < rows; ++i) {
    for (int j = 0; j < columns; ++j) start_with_bias(task, (row + i) * tile_size, tiles[i][j]);
  }
  multiply_some_tiles(rows, columns, task.left + static_cast<std::size_t>(row) * steps * tile_bytes, right,
                      steps, tiles, tile_size, task.bias == nullptr);
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < columns; ++j) write_pixel(task, (row + i) * tile_size, pixel + j, tiles[i][j]);
  }
}

void multiply_pixels(const PixelProduct& task) {
  [[maybe_unused]] const TileState tiles;
  const std::size_t pixel_bytes = whole_steps(task.source.taps * task.source.channels) * tile_bytes;
  const int row_tiles = whole_tiles(task.rows);
  for (int first = 0; first < task.source.pixels; first += task.pixels_at_once) {
    const int count = smaller(task.pixels_at_once, task.source.pixels - first);
    pack_pixels(task.source, first, count, task.right);
    for (int row = 0; row < row_tiles; row += 2) {
      for (int pixel = 0; pixel < count; pixel += 2) {
        multiply_block(task, row, smaller(2, row_tiles - row), first + pixel, smaller(2, count - pixel),
                       task.right + pixel * pixel_bytes);
      }
    }
  }
}

/// The same 16 elements of every grid pixel.
struct ElementTile {
  SourceElement elements[tile_size];
};

ElementTile elements_of(const GridSource& source, int first) {
  ElementTile result;
  for (int i = 0; i < tile_size; ++i) result.elements[i] = element_of(source, first + i);
  return result;
}

/// Loads two grid pixels from `pixel` on to [element][2 x 16 images]; missing pixels and elements are zeros.
HWY_INLINE void load_rows(const GridSource& source, const ElementTile& elements, int pixel,
                          std::uint16_t* to) {
  for (const SourceElement& element : elements.elements) {
    for (int p = pixel; p < pixel + step_pixels; ++p, to += lanes) {
      const std::uint16_t* const from = p < source.pixels ? images_of(element, p) : nullptr;
      for (int part = 0; part < lanes; part += width) {
        hn::StoreU(load_or_zeros(from, part), half_lanes, to + part);
      }
    }
  }
}

// Pack 16 elements of the pixels of `steps` steps from step `first` on.
void pack_elements_as_rows(const GridSource& source, int element, int first, int steps, std::byte* left) {
  const ElementTile elements = elements_of(source, element);
  for (int step = first; step < first + steps; ++step, left += tile_bytes) {
    put_rows([&](std::uint16_t* tile) HWY_ATTR { load_rows(source, elements, step * step_pixels, tile); },
             left);
  }
}
void pack_elements_as_columns(const GridSource& source, int element, int first, int steps, std::byte* right) {
  const ElementTile elements = elements_of(source, element);
  PairTile rows, tile;
  for (int step = first; step < first + steps; ++step, right += tile_bytes) {
    load_rows(source, elements, step * step_pixels, reinterpret_cast<std::uint16_t*>(rows.data));
    transpose_tile(rows.data, tile.data);
    put_columns(tile, right);
  }
}

/// Multiplies `steps` steps of packed rows and columns, and adds the products to the tiles of sums from
/// (`row`, `column`) on.
void add_block(const WeightProduct& task, int row, int row_count, int column, int column_count, int steps,
               bool start) {
  for (int j = 0; j < column_count; j += 2) {
    for (int i = 0; i < row_count; i += 2) {
      float* const sums = task.sums + static_cast<std::size_t>(row + i) * tile_size * task.row_stride +
                          static_cast<std::size_t>(column + j) * tile_size;
      float* const lower = sums + tile_size * task.row_stride;  // unused in the last tile of rows
      float* const tiles[2][2] = {{sums, sums + tile_size}, {lower, lower + tile_size}};
      multiply_some_tiles(smaller(2, row_count - i), smaller(2, column_count - j),
                          task.left + static_cast<std::size_t>(i) * steps * tile_bytes,
                          task.right + static_cast<std::size_t>(j) * steps * tile_bytes, steps, tiles,
                          task.row_stride, start);
    }
  }
}

void multiply_weights(const WeightProduct& task) {
  [[maybe_unused]] const TileState tiles;
  const int all_steps = (task.gradient.pixels + step_pixels - 1) / step_pixels;
  const int row_tiles = whole_tiles(task.gradient.channels);
  const int column_tiles = whole_tiles(task.source.taps * task.source.channels);
  for (int first = 0; first < all_steps; first += task.steps_at_once) {
    const int steps = smaller(task.steps_at_once, all_steps - first);
    const std::size_t bytes = steps * tile_bytes;  // bytes of all steps of 16 rows or columns
    for (int row = 0; row < row_tiles; row += task.row_tiles_at_once) {
      const int rows = smaller(task.row_tiles_at_once, row_tiles - row);
      for (int i = 0; i < rows; ++i) {
        pack_elements_as_rows(task.gradient, (row + i) * tile_size, first, steps, task.left + i * bytes);
      }
      for (int column = 0; column < column_tiles; column += task.column_tiles_at_once) {
        const int columns = smaller(task.column_tiles_at_once, column_tiles - column);
        for (int i = 0; i < columns; ++i) {
          pack_elements_as_columns(task.source, (column + i) * tile_size, first, steps,
                                   task.right + i * bytes);
        }
        add_block(task, row, rows, column, columns, steps, first == 0 && !task.add);
      }
    }
  }
}

}  // namespace

const Bf16ProductKernels bf16_product_kernels{.tile_bytes = tile_bytes,
                                              .pack_factors = pack_factors,
                                              .multiply_pixels = multiply_pixels,
                                              .multiply_weights = multiply_weights,
                                              .multiply_in_registers = multiply_in_registers};

}  // namespace lockstep::cpu::LOCKSTEP_LEVEL
