#pragma once

#include "ops/cpu/convolution/kernels/bf16_tiles.h"

/// Tiles of floats, [pair][even, odd][row or column] in both operands. The functions are documented in
/// bf16_tiles_amx.h.
namespace lockstep::cpu::LOCKSTEP_LEVEL {

constexpr std::size_t tile_bytes = tile_size * step_products * sizeof(float);

struct TileState {};

HWY_INLINE void store_row(const float* sums, Bfloat16* to) {
  for (int part = 0; part < lanes; part += width) store(hn::Load(floats, sums + part), to + part);
}

HWY_INLINE void put_pair(PairVector v, int pair, int part, std::byte* right) {
  float* const to = reinterpret_cast<float*>(right) + pair * 2 * tile_size + part;
  hn::Store(hn::BitCast(floats, hn::ShiftLeft<16>(v)), floats, to);
  hn::Store(hn::BitCast(floats, hn::And(v, hn::Set(pair_lanes, 0xffff0000U))), floats, to + tile_size);
}

HWY_INLINE void put_pairs(const PairTile& tile, std::byte* left) { put_columns(tile, left); }
template <class Write>
HWY_INLINE void put_rows(const Write& write_rows, std::byte* left) {
  PairTile rows, tile;
  write_rows(reinterpret_cast<std::uint16_t*>(rows.data));
  transpose_tile(rows.data, tile.data);
  put_pairs(tile, left);
}

/// Computes `rows` rows x `vectors` vectors of sums of a step's even products, or of its odd products.
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

/// Adds one step to `rows` rows of `vectors` vectors of sums. Rows are `stride` floats apart.
template <int rows, int vectors>
HWY_NOINLINE void add_step(const float* left, const float* const* right, float* const* sums,
                           std::size_t stride) {
  HWY_ALIGN float even[rows * vectors * width];
  Vector sum[rows][vectors];
  sum_chains<rows, vectors>(left, right, sum);
  LOCKSTEP_UNROLL for (int i = 0; i < rows; ++i) {
    LOCKSTEP_UNROLL for (int v = 0; v < vectors; ++v) {
      hn::Store(sum[i][v], floats, even + (i * vectors + v) * width);
    }
  }
  const float* odd[vectors];
  LOCKSTEP_UNROLL for (int v = 0; v < vectors; ++v) { odd[v] = right[v] + tile_size; }
  sum_chains<rows, vectors>(left + tile_size, odd, sum);
  LOCKSTEP_UNROLL for (int i = 0; i < rows; ++i) {
    LOCKSTEP_UNROLL for (int v = 0; v < vectors; ++v) {
      const Vector both = hn::Add(hn::Load(floats, even + (i * vectors + v) * width), sum[i][v]);
      float* const to = sums[v] + i * stride;
      hn::Store(hn::Add(hn::Load(floats, to), both), floats, to);
    }
  }
}

/// Adds one step to rows [row, row + rows) of a row of tiles, for all columns. `right`: the step's column
/// tiles.
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
  /// Number of rows whose sums are in registers at once.
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

/// See Bf16ProductKernels.
constexpr double (*multiply_in_registers)(std::int64_t rounds) = nullptr;

}  // namespace lockstep::cpu::LOCKSTEP_LEVEL
