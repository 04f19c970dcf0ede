#pragma once

#include <immintrin.h>

#include "ops/cpu/convolution/kernels/bf16_tiles.h"

/// Tiles for AMX. A pair is two bf16 in 32 bits. The left operand is [row][pair], the right one
/// [pair][column].
namespace lockstep::cpu::LOCKSTEP_LEVEL {

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

/// Configures AMX's tiles on this thread for the lifetime of the object.
class TileState {
 public:
  TileState() { _tile_loadconfig(&tile_config); }
  TileState(const TileState&) = delete;
  TileState& operator=(const TileState&) = delete;
  ~TileState() { _tile_release(); }
};

/// Rounds a row of a tile of sums to bf16 and stores it; rounds like `store`.
HWY_INLINE void store_row(const float* sums, Bfloat16* to) {
  const __m256bh rounded = _mm512_cvtneps_pbh(_mm512_load_ps(sums));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), reinterpret_cast<__m256i>(rounded));
}

HWY_INLINE void put_pair(PairVector v, int pair, int part, std::byte* right) {
  hn::Store(v, pair_lanes, reinterpret_cast<std::uint32_t*>(right) + pair * tile_size + part);
}

/// Writes a tile of the left operand by calling write_rows(target), where the target is [row][product].
template <class Write>
HWY_INLINE void put_rows(const Write& write_rows, std::byte* left) {
  write_rows(reinterpret_cast<std::uint16_t*>(left));
}
/// Writes a tile of the left operand from `tile`, which is [pair][row].
HWY_INLINE void put_pairs(const PairTile& tile, std::byte* left) {
  transpose_tile(tile.data, reinterpret_cast<std::uint32_t*>(left));
}

/// Adds the products of `steps` steps to `rows` x `columns` (each 1 or 2) tiles of sums. Tiles are addressed
/// as sums[row tile][column tile]; their rows are `stride` floats apart. Each operand holds the `steps` tiles
/// of the first row or column of tiles, then those of the second. `start`: whether sums start from zero.
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

/// See Bf16ProductKernels. Four independent sums hide the latency of the instruction.
inline double multiply_in_registers(std::int64_t rounds) {
  const TileState tiles;
  for (std::int64_t round = 0; round < rounds; ++round) {
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  return 4.0 * 2 * tile_size * tile_size * step_products * static_cast<double>(rounds);
}

}  // namespace lockstep::cpu::LOCKSTEP_LEVEL
