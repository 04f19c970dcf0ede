#pragma once

#include "ops/cpu/convolution/kernels/bf16_product.h"
#include "ops/cpu/kernels/storage.h"
#include "ops/cpu/kernels/transpose.h"

/// Tiles of operands: 16 rows or columns x 16 pairs of products. bf16_tiles_amx.h and bf16_tiles_floats.h
/// define the same functions, which store and multiply tiles.
namespace lockstep::cpu::LOCKSTEP_LEVEL {

using PairLanes = hn::RebindToUnsigned<Floats>;
using HalfLanes = hn::Rebind<std::uint16_t, Floats>;
using PairVector = hn::Vec<PairLanes>;
constexpr PairLanes pair_lanes;
constexpr HalfLanes half_lanes;

constexpr int tile_pairs = step_products / 2;
constexpr int tile_floats = tile_size * tile_size;  ///< floats per tile of sums, pairs per tile of an operand

/// A tile of pairs of bf16.
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

/// Writes images or columns [part, part + width) of one pair to a tile of the right operand.
void put_pair(PairVector v, int pair, int part, std::byte* right);
/// Writes a tile of the right operand from `tile`, which is [pair][column].
HWY_INLINE void put_columns(const PairTile& tile, std::byte* right) {
  for (int pair = 0; pair < tile_pairs; ++pair) {
    for (int part = 0; part < tile_size; part += width) {
      put_pair(hn::Load(pair_lanes, tile.data + pair * tile_size + part), pair, part, right);
    }
  }
}

}  // namespace lockstep::cpu::LOCKSTEP_LEVEL
