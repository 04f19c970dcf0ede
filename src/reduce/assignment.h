#pragma once

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

}  // namespace lockstep
