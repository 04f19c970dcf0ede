#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "comm/communicator.h"
#include "lockstep/sampler.h"
#include "lockstep/world.h"

namespace lockstep {

/// What is made sure of after each epoch, over all ranks. Errors here are defects: Error(internal) on all
/// ranks. Collective.
class EpochChecks {
 public:
  EpochChecks(const World& world, Communicator& communicator) : world_(world), communicator_(communicator) {}

  struct Epoch {
    std::uint64_t size = 0;             ///< samples of the data set
    std::uint64_t first = 0, last = 0;  ///< positions [first, last) of the epoch's order were to be visited
    std::uint64_t seed = 0;
    std::uint32_t epoch = 0;  ///< from 0
  };
  /// Each of these samples was visited exactly once, on some rank; `before`, `after`: this rank's sums.
  void each_visited_once(const VisitSum& before, const VisitSum& after, const Epoch& epoch) const;

  /// The parameters of all ranks have the same hash.
  void same_parameters(std::array<std::uint64_t, 2> hash) const;

 private:
  std::vector<std::array<std::uint64_t, 2>> gather(std::array<std::uint64_t, 2> own) const;
  VisitSum sum(const VisitSum& own) const;

  const World& world_;
  Communicator& communicator_;
};

}  // namespace lockstep
