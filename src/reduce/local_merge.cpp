#include "reduce/local_merge.h"

#include <algorithm>

namespace lockstep {

LocalMerge::LocalMerge(const std::vector<Partial>& partials, std::size_t elements, const Summation& summation)
    : elements_(elements) {
  std::vector<Node> nodes;
  for (const Partial& partial : partials) {
    nodes.push_back(partial.node);
    inputs_.push_back(partial.data);
  }
  for (Merge& merge : plan_merge(nodes)) {
    float* into = partials[static_cast<std::size_t>(merge.fold.program.front())].data;
    results_.push_back({merge.node, into});
    if (merge.fold.program.size() > 1) {
      groups_.push_back({summation.make_folder(std::move(merge.fold), elements), into});
    }
  }
}

void LocalMerge::run() {
  for (Group& group : groups_) {
    const std::size_t block = group.fold->block();
    for (std::size_t begin = 0; begin < elements_; begin += block) {
      const std::size_t count = std::min(block, elements_ - begin);
      group.fold->sum_into(inputs_, begin, count, group.into + begin);
    }
  }
}

}  // namespace lockstep
