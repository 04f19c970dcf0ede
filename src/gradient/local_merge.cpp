#include "gradient/local_merge.h"

#include <utility>

namespace lockstep {

LocalMerge::LocalMerge(const std::vector<Partial>& partials, std::size_t elements)
    : elements_(elements), end_(elements) {
  std::vector<Node> nodes;
  for (const Partial& partial : partials) {
    nodes.push_back(partial.node);
    partials_.push_back(partial.data);
  }
  for (Merge& merge : plan_merge(nodes)) {
    float* into = partials[static_cast<std::size_t>(merge.fold.program.front())].data;
    results_.push_back({merge.node, into});
    if (merge.fold.program.size() > 1) groups_.push_back({std::move(merge.fold), into});
  }
}

void LocalMerge::record(Stream& stream, Summation& summation, std::size_t begin) {
  std::vector<const float*>& inputs = inputs_[begin];
  if (inputs.empty()) {
    for (const float* const partial : partials_) inputs.push_back(partial + begin);
  }
  for (const Group& group : groups_) {
    if (begin < end_) summation.fold(stream, group.fold, {begin, end_, inputs}, group.into + begin);
  }
  end_ = begin > 0 ? begin : elements_;
}

}  // namespace lockstep
