#pragma once

#include <string>
#include <vector>

#include "lockstep/execution.h"

namespace lockstep {

class World;

/// Results of the same short training run, on all ranks together and on rank 0 alone.
struct SelfTest {
  std::vector<std::string> digests;  ///< digests of all ranks
  std::string alone;                 ///< digest of the run on rank 0 alone; empty on the other ranks
  double seconds = 0.0;              ///< time of both runs

  /// Description of the difference; empty: all digests are equal.
  std::string failure() const;
};

/// Trains LeNet, executed as `execution` says, on synthetic images for a few steps, the last one smaller.
/// Collective; fails as Trainer does.
SelfTest run_self_test(const World& world, const ExecutionOptions& execution);

}  // namespace lockstep
