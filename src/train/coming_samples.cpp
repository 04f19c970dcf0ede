#include "train/coming_samples.h"

#include <algorithm>

namespace lockstep {

std::vector<std::vector<SampleRange>> coming_samples(const StepContext& context, const Loader& loader,
                                                     const EpochSteps& epoch) {
  std::vector<std::vector<SampleRange>> coming(context.runners.size());
  Assignment assignment;
  for (std::uint64_t step = 0; step < epoch.steps; ++step) {
    const std::uint64_t first = step * epoch.batch;
    const std::uint64_t samples = std::min(epoch.batch, epoch.samples - first);
    if (const std::uint32_t leaves = loader.leaves(samples); leaves != assignment.leaves) {
      assignment = assign_leaves(context, leaves);
    }
    for (std::size_t e = 0; e < coming.size(); ++e) {
      const auto position = [&](std::size_t boundary) {
        return std::min(std::uint64_t{assignment.executors[boundary]} * loader.micro_batch(), samples);
      };
      if (const std::uint64_t count = position(e + 1) - position(e); count > 0) {
        coming[e].push_back({.first = first + position(e), .samples = count});
      }
    }
  }
  return coming;
}

}  // namespace lockstep
