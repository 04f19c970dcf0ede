#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

namespace lockstep::cuda {

/// Number of threads of a block, which add up one row together in for_each_row.
constexpr unsigned row_threads = 256;
/// Number of threads of a warp, which exchange words without shared memory.
constexpr unsigned warp_threads = 32;
/// Maximum number of lanes of a row.
constexpr unsigned max_row_lanes = 32;
static_assert(max_row_lanes <= warp_threads);

/// A sum as 32-bit words, the unit of a GPU's shared memory and shuffles.
template <class Sum>
struct SumWords {
  static_assert(std::is_trivially_copyable_v<Sum> && sizeof(Sum) % sizeof(std::uint32_t) == 0);
  static constexpr unsigned count = sizeof(Sum) / sizeof(std::uint32_t);
  std::uint32_t words[count];
};

}  // namespace lockstep::cuda
