#pragma once

#include <algorithm>
#include <cstdint>

#include "graph/graph.h"
#include "lockstep/dataset.h"
#include "lockstep/network.h"
#include "lockstep/training_options.h"
#include "train/session/placement.h"

namespace lockstep {

class World;

/// Steps of an epoch: `batch` samples each, the last one what is left of `samples`.
struct EpochSteps {
  std::uint64_t steps = 0;
  std::uint64_t batch = 0;
  std::uint64_t samples = 0;

  /// Samples of the step at `position`.
  std::uint64_t samples_at(std::uint64_t position) const {
    return std::min(batch, samples - position * batch);
  }
};

/// A training run that was checked: its options leave nothing open.
struct Run {
  const Network& network;
  const Dataset& train;
  const Dataset& test;
  TrainerOptions options;
  ArenaLayout layout;
  EpochSteps epoch;

  /// Samples of a micro-batch.
  std::uint32_t micro_batch() const {
    return static_cast<std::uint32_t>(options.batch.size / options.batch.micro_batches);
  }
};

/// Resolves the options by the placement, and checks them together with network and data sets, which outlive
/// the run. Collective. Throws Error(usage) on all ranks.
Run check_run(const World& world, const Placement& placement, const Network& network, const Dataset& train,
              const Dataset& test, const TrainerOptions& options);

}  // namespace lockstep
