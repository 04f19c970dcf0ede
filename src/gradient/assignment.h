#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lockstep {

/// Leaves (micro-batches) of a step that each rank, and each executor of this rank, computes.
struct Assignment {
  std::uint32_t leaves = 0;
  std::vector<std::uint32_t> ranks;      ///< boundaries of the ranks' leaves
  std::vector<std::uint32_t> executors;  ///< boundaries of this rank's executors, within its leaves
};
/// `weights`: relative share of leaves per rank; empty: equal.
Assignment assign(std::uint32_t leaves, int ranks, int rank, int executors,
                  std::span<const double> weights = {});

/// Relative shares of the leaves of a step for the executors of all ranks.
struct Shares {
  std::vector<std::size_t> ranks;     ///< first executor of each rank, then the total number
  std::vector<std::uint32_t> leaves;  ///< leaves of each executor in a full step

  bool operator==(const Shares&) const = default;
};
/// Shares that assign() gives to the executors of all ranks. `executors`: number of executors on each rank.
Shares equal_shares(std::uint32_t leaves, std::span<const int> executors,
                    std::span<const double> weights = {});
Assignment assign(std::uint32_t leaves, const Shares& shares, int rank);

}  // namespace lockstep
