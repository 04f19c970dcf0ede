#pragma once

#include <algorithm>
#include <numeric>

#include "comm/communicator.h"

namespace lockstep {

/// How an exchange is cut into rounds, in each of which all partial sums of a chunk of every slice travel;
/// equal on all ranks.
struct ExchangeRounds {
  struct Limits {
    std::size_t staging;            ///< elements of all inputs of a round, unless chunks get too small
    std::size_t smallest, largest;  ///< elements of a chunk
  };
  std::size_t inputs = 0;  ///< partial sums of all ranks
  std::size_t chunk = 0;   ///< elements of a slice per round, a multiple of 16
  std::size_t count = 0;

  ExchangeRounds(const PartialSums& partials, const Limits& limits) {
    inputs = std::accumulate(partials.counts.begin(), partials.counts.end(), std::size_t{0});
    const std::size_t fitting = limits.staging / std::max<std::size_t>(inputs, 1) & ~std::size_t{15};
    chunk = std::clamp(fitting, limits.smallest, limits.largest);
    for (std::size_t i = 1; i < partials.slices.size(); ++i) {
      count = std::max(count, (partials.slices[i] - partials.slices[i - 1] + chunk - 1) / chunk);
    }
  }

  std::size_t begin(const PartialSums& partials, std::size_t owner, std::size_t round) const {
    return std::min(partials.slices[owner] + round * chunk, partials.slices[owner + 1]);
  }
  std::size_t length(const PartialSums& partials, std::size_t owner, std::size_t round) const {
    return begin(partials, owner, round + 1) - begin(partials, owner, round);
  }
};

}  // namespace lockstep
