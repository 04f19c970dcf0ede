#include "train/step/coming_samples.h"

#include <algorithm>

namespace lockstep {

std::vector<std::vector<SampleRange>> coming_samples(
    const Loader& loader, const EpochSteps& epoch, std::uint64_t first_step,
    const std::function<Assignment(std::uint32_t leaves)>& assigned) {
  std::vector<std::vector<SampleRange>> coming;
  Assignment assignment;
  for (std::uint64_t step = first_step; step < epoch.steps; ++step) {
    const std::uint64_t first = step * epoch.batch, samples = epoch.samples_at(step);
    const std::uint32_t leaves = loader.leaves(samples);
    if (leaves != assignment.leaves) assignment = assigned(leaves);
    coming.resize(assignment.executors.size() - 1);
    for (std::size_t e = 0; e < coming.size(); ++e) {
      const auto position = [&](std::size_t boundary) {
        return std::min(std::uint64_t{assignment.executors[boundary]} * loader.micro_batch(), samples);
      };
      const std::uint64_t begin = position(e), end = position(e + 1);
      if (end > begin) coming[e].push_back({.first = first + begin, .samples = end - begin});
    }
  }
  return coming;
}

}  // namespace lockstep
