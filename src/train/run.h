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

/// Steps of an epoch over `samples` samples: `batch` samples in each step, the rest in the last step.
struct EpochSteps {
  std::uint64_t steps = 0;
  std::uint64_t batch = 0;
  std::uint64_t samples = 0;

  /// Samples of the step at `position`.
  std::uint64_t samples_at(std::uint64_t position) const {
    return std::min(batch, samples - position * batch);
  }
};

/// `options.batch.size` must be a number, not by_data.
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

/// Replaces automatic values of the options by values computed from the training samples and the placement,
/// and checks the options together with network and data sets, which must outlive the run. Collective.
/// Throws, on all ranks, Error(usage), Error(data) for invalid labels or targets, and the errors of
/// resolved_by_data.
Run check_run(const World& world, const Placement& placement, const Network& network, const Dataset& train,
              const Dataset& test, const TrainerOptions& options);

}  // namespace lockstep
