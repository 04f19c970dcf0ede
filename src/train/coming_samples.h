#pragma once

#include <vector>

#include "data/loader.h"
#include "train/step_program.h"

namespace lockstep {

/// Steps of an epoch: `batch` samples each, the last one what is left of `samples`.
struct EpochSteps {
  std::uint64_t steps = 0;
  std::uint64_t batch = 0;
  std::uint64_t samples = 0;
};

/// Which positions of the epoch each executor of this rank computes: by executor, then by step (an executor
/// may have no part in some).
std::vector<std::vector<SampleRange>> coming_samples(const StepContext& context, const Loader& loader,
                                                     const EpochSteps& epoch);

}  // namespace lockstep
