#include "gradient/gradient_sums.h"

#include <algorithm>

#include "gradient/host_exchange.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

/// Checks the options. A mistake in them would otherwise show as a wrong sum or a hang.
void check(const GradientSumsOptions& options, int rank) {
  if (options.assignment.leaves == 0) throw Error(Category::internal, "a step without micro-batches");
  const auto at = static_cast<std::size_t>(rank);
  std::uint32_t leaf = options.assignment.ranks[at];
  for (const Partial& partial : options.partials) {
    if (partial.node.begin != leaf) throw Error(Category::internal, "partial sums are not the rank's leaves");
    leaf = partial.node.end();
  }
  if (leaf != options.assignment.ranks[at + 1]) {
    throw Error(Category::internal, "partial sums are not the rank's leaves");
  }
}

/// Parts of the communicator over hosts if all ranks use one, else null: a rank with a GPU may sum beside
/// ranks without. Collective.
const HostParts* find_host_parts(Communicator& communicator) {
  const HostParts* const parts = communicator.host_parts();
  const auto all = all_gather(communicator, static_cast<std::byte>(parts != nullptr ? 1 : 0));
  return std::ranges::count(all, std::byte{0}) == 0 ? parts : nullptr;
}

/// Partial sums of all ranks after their local merges, in rank order.
struct Inputs {
  Inputs() = default;
  explicit Inputs(const Assignment& assignment) {
    for (std::size_t rank = 0; rank + 1 < assignment.ranks.size(); ++rank) {
      of_ranks.push_back(cover(assignment.ranks[rank], assignment.ranks[rank + 1]));
      nodes.insert(nodes.end(), of_ranks.back().begin(), of_ranks.back().end());
      counts.push_back(static_cast<std::uint32_t>(of_ranks.back().size()));
    }
  }

  std::vector<Node> nodes;                  // subtrees that they are the sums of
  std::vector<std::vector<Node>> of_ranks;  // the same, by rank
  std::vector<std::uint32_t> counts;        // by rank
};

}  // namespace

void GradientSums::ready(Stream& stream, std::size_t begin) {
  merge_.record(stream, summation_, begin);
  exchange_->ready(stream, begin);
}

float* GradientSums::sum(Stream& stream) {
  if (sum_ == nullptr) {
    spare_ = summation_.allocate(last_ - first_);
    sum_ = spare_.floats().data();
  }
  sums_ = {sum_};
  while (const auto chunk = next(stream)) {
    summation_.fold(stream, fold_, *chunk, sum_ + (chunk->begin - first_));
  }
  return sum_;
}

/// A lone rank keeps its executors' sums apart: merging them first would be one more pass over memory.
std::unique_ptr<GradientSums> plan_canonical_sums(Communicator& communicator,
                                                  const GradientSumsOptions& options, const Slices& slices) {
  check(options, communicator.rank());
  const auto rank = static_cast<std::size_t>(communicator.rank());
  std::unique_ptr<GradientSums> sums(new GradientSums(options.summation));
  sums->first_ = slices[rank];
  sums->last_ = slices[rank + 1];

  Inputs inputs;
  SumLayout layout{.own = {}, .counts = {}, .slices = slices};
  if (communicator.size() == 1) {
    for (const Partial& partial : options.partials) {
      inputs.nodes.push_back(partial.node);
      layout.own.push_back(partial.data);
    }
    inputs.counts = {static_cast<std::uint32_t>(layout.own.size())};
  } else {
    sums->merge_ = LocalMerge(options.partials, options.elements);
    for (const Partial& partial : sums->merge_.results()) layout.own.push_back(partial.data);
    inputs = Inputs(options.assignment);
  }
  layout.counts = inputs.counts;
  // Only this rank reads its own partial sums of its slice, so the sum may overwrite them.
  if (!layout.own.empty()) sums->sum_ = layout.own.front() + sums->first_;
  if (const HostParts* const parts = find_host_parts(communicator)) {
    HostExchange planned = plan_host_exchange(*parts, options.summation, layout, inputs.of_ranks);
    inputs.nodes = std::move(planned.inputs);
    sums->exchange_ = std::move(planned.exchange);
  } else {
    sums->exchange_ = communicator.plan_sum(std::move(layout));
  }
  sums->fold_ = plan_fold(inputs.nodes, options.assignment.leaves);
  return sums;
}

std::unique_ptr<GradientSums> plan_bucketed_sums(Communicator& communicator,
                                                 const GradientSumsOptions& options,
                                                 std::span<const std::size_t> buckets, std::size_t gathered) {
  check(options, communicator.rank());
  std::unique_ptr<GradientSums> sums(new GradientSums(options));
  const Inputs inputs(options.assignment);
  sums->exchange_ = plan_tree_exchange(communicator, options.summation, sums->merge_.results(), inputs.counts,
                                       plan_fold(inputs.nodes, options.assignment.leaves), options.elements,
                                       buckets, gathered);
  return sums;
}

std::unique_ptr<GradientSums> plan_ring_sums(Communicator& communicator, const GradientSumsOptions& options,
                                             std::span<const std::size_t> buckets) {
  check(options, communicator.rank());
  std::unique_ptr<GradientSums> sums(new GradientSums(options));
  sums->exchange_ =
      plan_ring_exchange(communicator, options.summation, sums->merge_.results(), options.elements, buckets);
  return sums;
}

}  // namespace lockstep
