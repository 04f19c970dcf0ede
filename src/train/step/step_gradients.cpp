#include "train/step/step_gradients.h"

#include <algorithm>

#include "comm/world/agreed.h"
#include "gradient/buckets.h"

namespace lockstep {

StepGradients::StepGradients(const Session& session, const ArenaLayout& layout, const Assignment& assignment,
                             const Slices& slices, GradientArenas& arenas)
    : device_(session.device()),
      summation_(session.backend().summation()),
      whole_sums_(session.placement().whole_sums),
      elements_(layout.elements),
      buckets_(cut_into_buckets(layout.offsets, layout.elements)),
      assignment_(assignment),
      arenas_(arenas) {
  const auto& bounds = assignment_.executors;
  for (std::size_t e = 0; e + 1 < bounds.size(); ++e) plans_.emplace_back(bounds[e], bounds[e + 1]);
  grow(session);
  GradientSumsOptions options{
      .elements = elements_, .assignment = assignment_, .partials = {}, .summation = summation_};
  for (std::size_t e = 0; e < plans_.size(); ++e) {
    for (const PartialSumPlan::Result& result : plans_[e].results()) {
      options.partials.push_back({result.node, arenas_[e][result.arena].floats().data()});
    }
  }
  Communicator& ranks = session.between_devices();
  sums_ = session.placement().reduce == Reduce::ring ? plan_ring_sums(ranks, options, buckets_)
          : whole_sums_                              ? plan_bucketed_sums(ranks, options, buckets_)
                                                     : plan_canonical_sums(ranks, options, slices);
}

/// Grows the arenas. The ranks agree on the memory before the next collective calls. Nothing that can fail on
/// a single rank may precede allocate_arenas, which is collective.
void StepGradients::grow(const Session& session) {
  arenas_.resize(plans_.size());
  std::size_t missing = 0;
  for (std::size_t e = 0; e < plans_.size(); ++e) {
    missing += plans_[e].arenas() - std::min<std::size_t>(plans_[e].arenas(), arenas_[e].size());
  }
  const std::size_t available = session.device().available_bytes();
  std::vector<Buffer> fresh = agreed(session.world(), [&] {
    std::vector<Buffer> arenas =
        allocate_arenas(session.between_devices(), session.device(), missing, elements_);
    check_memory(available, missing * elements_ * sizeof(float), "gradient sums");
    return arenas;
  });
  for (std::size_t e = 0; e < plans_.size(); ++e) {
    while (arenas_[e].size() < plans_[e].arenas()) {
      arenas_[e].push_back(std::move(fresh.back()));
      fresh.pop_back();
    }
  }
}

void StepGradients::record_leaf(Stream& stream, LeafRunner& runner, std::size_t executor, std::uint32_t leaf,
                                const float* parameters) {
  const auto arena = [&](std::uint32_t number) { return arenas_[executor][number].floats().data(); };
  const PartialSumPlan::LeafStep& fold = plans_[executor].leaves()[leaf - assignment_.executors[executor]];
  std::size_t end = elements_;  // end of the elements that are not folded yet
  for (const GradientPart& part : parts_of_leaf(runner, leaf)) {
    runner.backward(stream, part.nodes, parameters, arena(fold.write_to));
    const std::size_t begin = part.final_from;
    for (const auto& addition : fold.additions) {
      if (begin == end) break;
      summation_.add(stream, arena(addition.into) + begin, arena(addition.from) + begin, end - begin);
    }
    if (begin > 0) ready(begin);
    end = begin;
  }
}

/// The first stream waits for all work so far and starts the exchange, which then runs concurrently with the
/// rest of the last leaf's backward pass. The first stream's leaves were recorded before, so the wait delays
/// none of them.
void StepGradients::ready(std::size_t begin) {
  const auto streams = device_.streams().first(plans_.size());
  for (Stream* const other : streams.subspan(1)) streams[0]->wait(other->record());
  sums_->ready(*streams[0], begin);
}

/// Parts of a leaf's backward pass. With whole sums, the last leaf of the rank, which is recorded after all
/// others, has several parts. Each completes a bucket, so that the bucket's exchange can begin early.
std::vector<GradientPart> StepGradients::parts_of_leaf(const LeafRunner& runner, std::uint32_t leaf) const {
  const bool last = leaf + 1 == assignment_.executors.back();
  if (!last || !whole_sums_) return {{runner.nodes(), 0}};
  std::vector<GradientPart> joined;
  std::size_t waiting = buckets_.size();  // buckets that are not complete
  std::size_t end = runner.nodes().end;
  for (const GradientPart& part : runner.parts()) {
    if (part.final_from > buckets_[waiting - 1]) continue;
    while (waiting > 1 && buckets_[waiting - 1] >= part.final_from) --waiting;
    joined.push_back({{part.nodes.begin, end}, part.final_from});
    end = part.nodes.begin;
  }
  return joined;
}

}  // namespace lockstep
