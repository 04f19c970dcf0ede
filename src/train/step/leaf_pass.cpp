#include "train/step/leaf_pass.h"

#include <utility>

namespace lockstep {

LeafRunners make_runners(const Session& session, CompiledGraph& graph, const Loader& loader,
                         std::uint32_t leaves, StepLog log) {
  const Assignment assignment = session.assign(leaves, 1);
  const std::uint32_t own = assignment.executors.back() - assignment.executors.front();
  return session.planned([&] { return graph.make_runners(loader, own, log); });
}

LeafPass::LeafPass(const Session& session, const LeafRunners& runners, Assignment assignment)
    : device_(session.device()), runners_(runners), assignment_(std::move(assignment)) {
  session.world().agree([&] { results_ = device_.allocate(assignment_.leaves * sizeof(LeafResult)); });
  std::vector<std::size_t> bounds;
  for (const std::uint32_t leaf : assignment_.ranks) bounds.push_back(leaf * sizeof(LeafResult));
  gather_ = session.between_devices().plan_gather({results_.data(), results_.bytes()}, bounds);
}

void LeafPass::record(const float* parameters, std::span<const RecordLeaf> stages, Part part) const {
  const auto streams = device_.streams().first(runners_.size());
  const std::vector<std::uint32_t>& bounds = assignment_.executors;
  for (std::size_t e = 0; e < streams.size(); ++e) {
    if (part.number == 0) runners_[e]->prepare(*streams[e], parameters);
    const std::uint64_t units = std::uint64_t{bounds[e + 1] - bounds[e]} * stages.size();
    const std::uint64_t end = units * (part.number + 1) / part.count;
    for (std::uint64_t unit = units * part.number / part.count; unit < end; ++unit) {
      const auto leaf = bounds[e] + static_cast<std::uint32_t>(unit / stages.size());
      stages[unit % stages.size()](*streams[e], *runners_[e], e, leaf);
    }
  }
  for (std::size_t e = 1; e < streams.size(); ++e) streams[0]->wait(streams[e]->record());
}

}  // namespace lockstep
