#pragma once

#include <cstdint>

#include "lockstep/reports.h"

namespace lockstep {

/// Sums over the steps of an epoch; the same on all ranks, but for the time.
struct EpochTotals {
  double loss = 0.0;
  std::uint64_t correct = 0;  ///< samples whose class has the largest logit
  std::uint64_t samples = 0;  ///< computed
  std::uint64_t skipped = 0;  ///< could not be read
  double seconds = 0.0;       ///< on this rank
};

/// How far a run is at a step boundary. Epoch and position in the epoch follow from `step`.
struct Progress {
  std::uint64_t step = 0;  ///< steps made
  EpochTotals epoch = {};  ///< of the epoch in progress; of a complete one until the next begins
  BestEpoch best = {};
};

}  // namespace lockstep
