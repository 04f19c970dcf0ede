#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "data/loader.h"
#include "reduce/assignment.h"

namespace lockstep {

/// Steps of an epoch: `batch` samples each, the last one what is left of `samples`.
struct EpochSteps {
  std::uint64_t steps = 0;
  std::uint64_t batch = 0;
  std::uint64_t samples = 0;

  /// Of the step at `position`.
  std::uint64_t samples_at(std::uint64_t position) const {
    return std::min(batch, samples - position * batch);
  }
};

/// The positions of the epoch that each executor of this rank computes from step `first_step` of the epoch
/// on: by executor, then by step (an executor may have no part in some). `assigned`: who computes a step of
/// so many leaves.
std::vector<std::vector<SampleRange>> coming_samples(
    const Loader& loader, const EpochSteps& epoch, std::uint64_t first_step,
    const std::function<Assignment(std::uint32_t leaves)>& assigned);

}  // namespace lockstep
