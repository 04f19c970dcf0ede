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

/// Steps of an epoch over `samples` samples: `batch` in each step, the rest in the last one.
struct EpochSteps {
  std::uint64_t steps = 0;
  std::uint64_t batch = 0;
  std::uint64_t samples = 0;

  /// Samples of the step at `position`.
  std::uint64_t samples_at(std::uint64_t position) const {
    return std::min(batch, samples - position * batch);
  }
};

/// `options.batch.size` is a number.
EpochSteps steps_of_epoch(const TrainerOptions& options, std::uint64_t samples);

/// Checked training run. Its options have no automatic values.
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

/// Replaces automatic values of the options according to training samples and placement, and checks the
/// options together with network and data sets, which outlive the run. Collective. Throws Error(usage) on all
/// ranks, and as resolved_by_data does.
Run check_run(const World& world, const Placement& placement, const Network& network, const Dataset& train,
              const Dataset& test, const TrainerOptions& options);

}  // namespace lockstep
