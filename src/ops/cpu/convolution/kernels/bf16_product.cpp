#include "ops/cpu/convolution/kernels/bf16_product.h"

#include "ops/cpu/kernels/storage.h"
#include "ops/cpu/kernels/transpose.h"

#if defined(__AMX_BF16__)
#include <immintrin.h>
#endif

/// A tile of an operand has 16 rows or columns x 16 pairs of products. With AMX, pairs are two bf16 in 32
/// bits: a tile of the left operand is [row][pair], one of the right operand [pair][column]. Otherwise, both
/// are floats, [pair][even, odd][row or column].
namespace lockstep::cpu::LOCKSTEP_LEVEL {
namespace {

using PairLanes = hn::RebindToUnsigned<Floats>;
using HalfLanes = hn::Rebind<std::uint16_t, Floats>;
using PairVector = hn::Vec<PairLanes>;
constexpr PairLanes pair_lanes;
constexpr HalfLanes half_lanes;

constexpr int tile_pairs = step_products / 2;
constexpr int tile_floats = tile_size * tile_size;  ///< or pairs of bf16

/// Pairs of a tile.
struct PairTile {
  HWY_ALIGN std::uint32_t data[tile_floats];
};

/// Transposes 16 x 16 elements of 32 bits.
HWY_INLINE void transpose_tile(const std::uint32_t* from, std::uint32_t* to) {
  const auto* const rows = reinterpret_cast<const float*>(from);
  for (int column = 0; column < tile_size; column += 4) {
    for (int row = 0; row < tile_size; row += width) {
      Vector columns[4];
      load_columns(rows + row * tile_size + column, tile_size, columns);
      LOCKSTEP_UNROLL for (int i = 0; i < 4; ++i) {
        hn::Store(hn::BitCast(pair_lanes, columns[i]), pair_lanes, to + (column + i) * tile_size + row);
      }
    }
  }
}

#if defined(__AMX_BF16__)

constexpr std::size_t tile_bytes = tile_size * step_products * sizeof(Bfloat16);

/// 16 rows of 64 bytes in each of the eight tiles (Intel 64 and IA-32 Architectures Software Developer's
/// Manual, LDTILECFG).
struct alignas(64) TileConfig {
  std::uint8_t palette = 1;
  std::uint8_t zeros[15] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
constexpr TileConfig tile_config;

/// Configures the tiles of this thread, as long as it lives.
class TileState {
 public:
  TileState() { _tile_loadconfig(&tile_config); }
  TileState(const TileState&) = delete;
  TileState& operator=(const TileState&) = delete;
  ~TileState() { _tile_release(); }
};

/// Rounds a row of a tile of sums; like `store`.
HWY_INLINE void store_row(const float* sums, Bfloat16* to) {
  const __m256bh rounded = _mm512_cvtneps_pbh(_mm512_load_ps(sums));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), reinterpret_cast<__m256i>(rounded));
}

/// Writes images or columns [part, part + width) of one pair of a tile of the right operand.
HWY_INLINE void put_pair(PairVector v, int pair, int part, std::byte* right) {
  hn::Store(v, pair_lanes, reinterpret_cast<std::uint32_t*>(right) + pair * tile_size + part);
}
/// Writes a tile of the left operand by write_rows(target), which is [row][product].
template <class Write>
HWY_INLINE void put_rows(const Write& write_rows, std::byte* left) {
  write_rows(reinterpret_cast<std::uint16_t*>(left));
}
/// Writes a tile of the left operand from one that is [pair][row].
HWY_INLINE void put_pairs(const PairTile& tile, std::byte* left) {
  transpose_tile(tile.data, reinterpret_cast<std::uint32_t*>(left));
}

/// Adds the products of `steps` steps to 1 or 2 x 1 or 2 tiles of sums, sums[row tile][column tile], whose
/// rows are `stride` floats apart. Tiles of operands are `steps` tiles apart. `start`: from zero.
template <int rows, int columns>
HWY_INLINE void multiply_tiles(const std::byte* left, const std::byte* right, int steps,
                               float* const (&sums)[2][2], std::size_t stride, bool start) {
  const std::size_t next = steps * tile_bytes;
  const std::size_t bytes = stride * sizeof(float);
  asm volatile("" : : : "memory");  // GCC does not know that the following loads read memory
  if (start) {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  } else {
    _tile_loadd(0, sums[0][0], bytes);
    if constexpr (columns == 2) _tile_loadd(1, sums[0][1], bytes);
    if constexpr (rows == 2) _tile_loadd(2, sums[1][0], bytes);
    if constexpr (rows == 2 && columns == 2) _tile_loadd(3, sums[1][1], bytes);
  }
  for (int step = 0; step < steps; ++step, left += tile_bytes, right += tile_bytes) {
    _tile_loadd(6, right, 64);
    _tile_loadd(4, left, 64);
    _tile_dpbf16ps(0, 4, 6);
    if constexpr (rows == 2) {
      _tile_loadd(5, left + next, 64);
      _tile_dpbf16ps(2, 5, 6);
    }
    if constexpr (columns == 2) {
      _tile_loadd(7, right + next, 64);
      _tile_dpbf16ps(1, 4, 7);
    }
    if constexpr (rows == 2 && columns == 2) _tile_dpbf16ps(3, 5, 7);
  }
  _tile_stored(0, sums[0][0], bytes);
  if constexpr (columns == 2) _tile_stored(1, sums[0][1], bytes);
  if constexpr (rows == 2) _tile_stored(2, sums[1][0], bytes);
  if constexpr (rows == 2 && columns == 2) _tile_stored(3, sums[1][1], bytes);
}

#else

constexpr std::size_t tile_bytes = tile_size * step_products * sizeof(float);

struct TileState {};

HWY_INLINE void store_row(const float* sums, Bfloat16* to) {
  for (int part = 0; part < lanes; part += width) store(hn::Load(floats, sums + part), to + part);
}

HWY_INLINE void put_pair(PairVector v, int pair, int part, std::byte* tile) {
  float* const to = reinterpret_cast<float*>(tile) + pair * 2 * tile_size + part;
  hn::Store(hn::BitCast(floats, hn::ShiftLeft<16>(v)), floats, to);
  hn::Store(hn::BitCast(floats, hn::And(v, hn::Set(pair_lanes, 0xffff0000U))), floats, to + tile_size);
}
HWY_INLINE void put_pairs(const PairTile& tile, std::byte* left) {
  for (int pair = 0; pair < tile_pairs; ++pair) {
    for (int part = 0; part < tile_size; part += width) {
      put_pair(hn::Load(pair_lanes, tile.data + pair * tile_size + part), pair, part, left);
    }
  }
}
template <class Write>
HWY_INLINE void put_rows(const Write& write_rows, std::byte* left) {
  PairTile rows, tile;
  write_rows(reinterpret_cast<std::uint16_t*>(rows.data));
  transpose_tile(rows.data, tile.data);
  put_pairs(tile, left);
}

/// Sums of `rows` rows x `vectors` vectors of columns of the even or the odd products of a step.
template <int rows, int vectors>
HWY_INLINE void sum_chains(const float* left, const float* const* right, Vector (&sum)[rows][vectors]) {
  LOCKSTEP_UNROLL for (int i = 0; i < rows; ++i) {
    LOCKSTEP_UNROLL for (int v = 0; v < vectors; ++v) { sum[i][v] = hn::Zero(floats); }
  }
  for (int pair = 0; pair < tile_pairs; ++pair) {
    const float* const factors = opaque(left + pair * 2 * tile_size);
    Vector values[vectors];
    LOCKSTEP_UNROLL for (int v = 0; v < vectors; ++v) {
      values[v] = hn::Load(floats, right[v] + pair * 2 * tile_size);
    }
    LOCKSTEP_UNROLL for (int i = 0; i < rows; ++i) {
      const Vector factor = hn::Set(floats, factors[i]);
      LOCKSTEP_UNROLL for (int v = 0; v < vectors; ++v) {
        sum[i][v] = hn::MulAdd(factor, values[v], sum[i][v]);
      }
    }
  }
}

/// Adds one step to `rows` rows, `stride` floats apart, of vectors of columns.
template <int rows, int vectors>
HWY_NOINLINE void add_step(const float* left, const float* const* right, float* const* sums,
                           std::size_t stride) {
  HWY_ALIGN float kept[rows * vectors * width];
  Vector sum[rows][vectors];
  sum_chains<rows, vectors>(left, right, sum);
  LOCKSTEP_UNROLL for (int i = 0; i < rows; ++i) {
    LOCKSTEP_UNROLL for (int v = 0; v < vectors; ++v) {
      hn::Store(sum[i][v], floats, kept + (i * vectors + v) * width);
    }
  }
  const float* odd[vectors];
  LOCKSTEP_UNROLL for (int v = 0; v < vectors; ++v) { odd[v] = right[v] + tile_size; }
  sum_chains<rows, vectors>(left + tile_size, odd, sum);
  LOCKSTEP_UNROLL for (int i = 0; i < rows; ++i) {
    LOCKSTEP_UNROLL for (int v = 0; v < vectors; ++v) {
      const Vector both = hn::Add(hn::Load(floats, kept + (i * vectors + v) * width), sum[i][v]);
      float* const to = sums[v] + i * stride;
      hn::Store(hn::Add(hn::Load(floats, to), both), floats, to);
    }
  }
}

/// Adds one step to rows [row, row + rows) of a tile of rows and all columns. `right`: tiles of the step.
template <int rows, int columns>
HWY_INLINE void add_rows(int row, const float* left, const float* const (&right)[2], float* const (&sums)[2],
                         std::size_t stride) {
  constexpr int vectors = columns * parts > 1 ? 2 : 1;
  for (int vector = 0; vector < columns * parts; vector += vectors) {
    const float* values[vectors];
    float* to[vectors];
    LOCKSTEP_UNROLL for (int v = 0; v < vectors; ++v) {
      const int part = (vector + v) % parts * width;
      values[v] = right[(vector + v) / parts] + part;
      to[v] = sums[(vector + v) / parts] + row * stride + part;
    }
    add_step<rows, vectors>(left + row, values, to, stride);
  }
}

template <int rows, int columns>
void multiply_tiles(const std::byte* left, const std::byte* right, int steps, float* const (&sums)[2][2],
                    std::size_t stride, bool start) {
  /// Rows whose sums are in registers at once.
  constexpr int block = many_registers ? (columns * parts > 1 ? 8 : 16) : 6;
  constexpr int rest = tile_size % block;
  const auto tile_of = [steps](const std::byte* operand, int tile, int step) {
    return reinterpret_cast<const float*>(operand +
                                          (static_cast<std::size_t>(tile) * steps + step) * tile_bytes);
  };
  for (int tile = 0; start && tile < rows * columns; ++tile) {
    float* const sum = sums[tile / columns][tile % columns];
    for (int row = 0; row < tile_size; ++row) clear(sum + row * stride, tile_size);
  }
  for (int step = 0; step < steps; ++step) {
    const float* const values[2] = {tile_of(right, 0, step), tile_of(right, columns - 1, step)};
    for (int tile = 0; tile < rows; ++tile) {
      const float* const factors = tile_of(left, tile, step);
      for (int row = 0; row + block <= tile_size; row += block) {
        add_rows<block, columns>(row, factors, values, sums[tile], stride);
      }
      if constexpr (rest > 0) add_rows<rest, columns>(tile_size - rest, factors, values, sums[tile], stride);
    }
  }
}

#endif

/// `multiply_tiles` for 1 or 2 tiles of rows and columns.
HWY_INLINE void multiply_tiles(int rows, int columns, const std::byte* left, const std::byte* right,
                               int steps, float* const (&sums)[2][2], std::size_t stride, bool start) {
  if (rows == 2) {
    columns == 2 ? multiply_tiles<2, 2>(left, right, steps, sums, stride, start)
                 : multiply_tiles<2, 1>(left, right, steps, sums, stride, start);
  } else {
    columns == 2 ? multiply_tiles<1, 2>(left, right, steps, sums, stride, start)
                 : multiply_tiles<1, 1>(left, right, steps, sums, stride, start);
  }
}

/// Upper half_lanes of up to `count` floats, 32 bits each; others are zeros.
HWY_INLINE PairVector load_rounded(const float* from, int count) {
  if (count >= width) return round_to_upper(hn::LoadU(floats, from));
  if (count <= 0) return hn::Zero(pair_lanes);
  return round_to_upper(hn::MaskedLoad(hn::FirstN(floats, count), floats, from));
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

/// Packs a tile of factors of several taps, from (tap, source) number `first` on.
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

/// One element of every grid pixel.
struct SourceElement {
  const Bfloat16* data;
  const std::int32_t* places;  ///< null: a missing element, zeros
};

SourceElement element_of(const GridSource& source, int number) {
  if (number >= source.taps * source.channels) return {source.data, nullptr};
  return {source.data + pixels(number % source.channels * source.plane),
          source.places + static_cast<std::size_t>(number / source.channels) * source.pixels};
}

/// Address of an element of a pixel; null: zeros.
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

/// Tiles of sums of a block of pixels.
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

/// Computes 1 or 2 tiles of rows, from tile `row` on, of 1 or 2 grid pixels. `right`: the packed pixels.
void multiply_block(const PixelProduct& task, int row, int rows, int pixel, int columns,
                    const std::byte* right) {
  const int steps = whole_steps(task.source.taps * task.source.channels);
  SumTiles sums;
  float* const places[2][2] = {{sums.data[0][0], sums.data[0][1]}, {sums.data[1][0], sums.data[1][1]}};
  for (int i = 0; task.bias != nullptr && i < rows; ++i) {
    for (int j = 0; j < columns; ++j) start_with_bias(task, (row + i) * tile_size, places[i][j]);
  }
  multiply_tiles(rows, columns, task.left + static_cast<std::size_t>(row) * steps * tile_bytes, right, steps,
                 places, tile_size, task.bias == nullptr);
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < columns; ++j) write_pixel(task, (row + i) * tile_size, pixel + j, places[i][j]);
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

/// 16 elements of every grid pixel.
struct ElementTile {
  SourceElement elements[tile_size];
};

ElementTile elements_of(const GridSource& source, int first) {
  ElementTile result;
  for (int i = 0; i < tile_size; ++i) result.elements[i] = element_of(source, first + i);
  return result;
}

/// Loads two grid pixels from `pixel` on, [element][2 x 16 images]; missing ones are zeros.
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

/// Packs 16 elements of the pixels of `steps` steps from `first` on, as rows or columns.
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
    for (int pair = 0; pair < tile_pairs; ++pair) {
      for (int part = 0; part < tile_size; part += width) {
        put_pair(hn::Load(pair_lanes, tile.data + pair * tile_size + part), pair, part, right);
      }
    }
  }
}

/// Adds the products of `steps` steps of packed rows and columns, from tiles `row` and `column` on, to the
/// sums.
void add_block(const WeightProduct& task, int row, int row_count, int column, int column_count, int steps,
               bool start) {
  for (int j = 0; j < column_count; j += 2) {
    for (int i = 0; i < row_count; i += 2) {
      float* const sums = task.sums + static_cast<std::size_t>(row + i) * tile_size * task.row_stride +
                          static_cast<std::size_t>(column + j) * tile_size;
      float* const lower = sums + tile_size * task.row_stride;  // unused in the last tile of rows
      float* const places[2][2] = {{sums, sums + tile_size}, {lower, lower + tile_size}};
      multiply_tiles(smaller(2, row_count - i), smaller(2, column_count - j),
                     task.left + static_cast<std::size_t>(i) * steps * tile_bytes,
                     task.right + static_cast<std::size_t>(j) * steps * tile_bytes, steps, places,
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
    const std::size_t bytes = steps * tile_bytes;  // of the steps of 16 rows or columns
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
                                              .multiply_weights = multiply_weights};

}  // namespace lockstep::cpu::LOCKSTEP_LEVEL
