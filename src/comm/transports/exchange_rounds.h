#pragma once

#include <algorithm>

#include "comm/exchange.h"

namespace lockstep {

/// How an exchange of partial sums is cut into rounds, in each of which all partial sums of a chunk of every
/// slice travel; equal on all ranks.
class ExchangeRounds {
 public:
  struct Limits {
    std::size_t staging;            ///< elements of all inputs of a round, unless chunks get too small
    std::size_t smallest, largest;  ///< elements of a chunk
  };

  ExchangeRounds(const SumLayout& layout, const Limits& limits)
      : ExchangeRounds(layout.slices, std::clamp(limits.staging / std::max<std::size_t>(layout.inputs(), 1) &
                                                     ~std::size_t{15},
                                                 limits.smallest, limits.largest)) {}
  /// Chunks of `chunk` elements.
  ExchangeRounds(const Slices& slices, std::size_t chunk) : slices_(slices), chunk_(chunk) {
    for (std::size_t i = 1; i < slices.size(); ++i) {
      count_ = std::max(count_, (slices[i] - slices[i - 1] + chunk - 1) / chunk);
    }
  }

  std::size_t count() const { return count_; }
  /// Elements of a slice per round; a multiple of 16.
  std::size_t chunk() const { return chunk_; }

  /// The chunk of `owner`'s slice; empty after its last.
  std::size_t begin(std::size_t owner, std::size_t round) const {
    return std::min(slices_[owner] + round * chunk_, slices_[owner + 1]);
  }
  std::size_t length(std::size_t owner, std::size_t round) const {
    return begin(owner, round + 1) - begin(owner, round);
  }

 private:
  Slices slices_;
  std::size_t chunk_;
  std::size_t count_ = 0;
};

}  // namespace lockstep
