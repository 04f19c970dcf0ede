#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lockstep {

/// Leaves (micro-batches) of a step that each rank and each of its executors computes.
struct Assignment {
  std::uint32_t leaves = 0;
  std::vector<std::uint32_t> ranks;      ///< boundaries over ranks
  std::vector<std::uint32_t> executors;  ///< boundaries over this rank's executors, inside its range
};
/// `weights`: relative share of leaves per rank; empty: equal.
Assignment assign(std::uint32_t leaves, int ranks, int rank, int executors,
                  std::span<const double> weights = {});

/// Relative shares of the leaves of a step for the executors of all ranks.
struct Shares {
  std::vector<std::size_t> ranks;     ///< first executor of each rank, then the number of all
  std::vector<std::uint32_t> leaves;  ///< of each executor in a full step

  bool operator==(const Shares&) const = default;
};
/// The shares that assign() gives to the executors of all ranks. `executors`: their number on each rank.
Shares equal_shares(std::uint32_t leaves, std::span<const int> executors,
                    std::span<const double> weights = {});
Assignment assign(std::uint32_t leaves, const Shares& shares, int rank);

}  // namespace lockstep
