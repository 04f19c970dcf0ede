#pragma once

#include <string>
#include <vector>

#include "lockstep/execution.h"

namespace lockstep {

class World;

/// What became of the same short training run, on all ranks together and on rank 0 alone.
struct SelfTest {
  std::vector<std::string> digests;  ///< of every rank
  std::string alone;                 ///< of rank 0 alone, afterwards; empty on the other ranks
  double seconds = 0.0;              ///< of both runs

  /// What is wrong, as a sentence; empty: all digests are equal.
  std::string failure() const;
};

/// Trains LeNet, executed as `execution` says, on made-up images for a few steps, with a short last one.
/// Collective; fails as Trainer does.
SelfTest run_self_test(const World& world, const ExecutionOptions& execution);

}  // namespace lockstep
