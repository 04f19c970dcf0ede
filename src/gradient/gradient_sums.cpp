#include "gradient/gradient_sums.h"

#include <algorithm>

#include "comm/world/agreement.h"
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

/// Host parts of the communicator if the communicators of all ranks have them, else null: some ranks may have
/// a GPU and others none. Collective.
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

  std::vector<Node> nodes;                  // subtrees of the partial sums
  std::vector<std::vector<Node>> of_ranks;  // the same, by rank
  std::vector<std::uint32_t> counts;        // number of partial sums, by rank
};

/// Parts for an exchange that leaves the whole sum on every rank.
GradientSums::Parts parts_of_whole_sums(const GradientSumsOptions& options) {
  GradientSums::Parts parts{.summation = options.summation,
                            .merge = LocalMerge(options.partials, options.elements),
                            .fold = {.program = {0}, .depth = 1},
                            .last = options.elements};
  if (!parts.merge.results().empty()) parts.sum = parts.merge.results().front().data;
  return parts;
}

}  // namespace

float* GradientSums::Parts::memory_of_sum() {
  if (sum == nullptr) {
    spare = summation.allocate(last - first);
    sum = spare.floats().data();
  }
  return sum;
}

void GradientSums::ready(Stream& stream, std::size_t begin) {
  parts_.merge.record(stream, parts_.summation, begin);
  parts_.exchange->ready(stream, begin);
}

float* GradientSums::sum(Stream& stream) {
  float* const total = parts_.memory_of_sum();
  sums_ = {total};
  while (const auto chunk = next(stream)) {
    parts_.summation.fold(stream, parts_.fold, *chunk, total + (chunk->begin - parts_.first));
  }
  return total;
}

/// A single rank does not merge its executors' sums first: that would be one more pass over memory.
std::unique_ptr<GradientSums> plan_canonical_sums(Communicator& communicator,
                                                  const GradientSumsOptions& options, const Slices& slices) {
  check(options, communicator.rank());
  const auto rank = static_cast<std::size_t>(communicator.rank());
  GradientSums::Parts parts{.summation = options.summation, .first = slices[rank], .last = slices[rank + 1]};

  Inputs inputs;
  SumLayout layout{.own = {}, .counts = {}, .slices = slices};
  if (communicator.size() == 1) {
    for (const Partial& partial : options.partials) {
      inputs.nodes.push_back(partial.node);
      layout.own.push_back(partial.data);
    }
    inputs.counts = {static_cast<std::uint32_t>(layout.own.size())};
  } else {
    parts.merge = LocalMerge(options.partials, options.elements);
    for (const Partial& partial : parts.merge.results()) layout.own.push_back(partial.data);
    inputs = Inputs(options.assignment);
  }
  layout.counts = inputs.counts;
  // Only this rank reads its own partial sums of its slice, so the sum may overwrite them.
  if (!layout.own.empty()) parts.sum = layout.own.front() + parts.first;
  if (const HostParts* const host_parts = find_host_parts(communicator)) {
    HostExchange planned = plan_host_exchange(*host_parts, options.summation, layout, inputs.of_ranks);
    inputs.nodes = std::move(planned.inputs);
    parts.exchange = std::move(planned.exchange);
  } else {
    parts.exchange = communicator.plan_sum(std::move(layout));
  }
  parts.fold = plan_fold(inputs.nodes, options.assignment.leaves);
  return std::make_unique<GradientSums>(std::move(parts));
}

std::unique_ptr<GradientSums> plan_bucketed_sums(Communicator& communicator,
                                                 const GradientSumsOptions& options,
                                                 std::span<const std::size_t> buckets, std::size_t gathered) {
  check(options, communicator.rank());
  GradientSums::Parts parts = parts_of_whole_sums(options);
  agree(communicator, [&] { parts.memory_of_sum(); });  // agree on the memory before collective calls
  const Inputs inputs(options.assignment);
  parts.exchange = plan_tree_exchange(communicator, options.summation, parts.merge.results(), inputs.counts,
                                      plan_fold(inputs.nodes, options.assignment.leaves),
                                      {parts.memory_of_sum(), options.elements}, buckets, gathered);
  return std::make_unique<GradientSums>(std::move(parts));
}

std::unique_ptr<GradientSums> plan_ring_sums(Communicator& communicator, const GradientSumsOptions& options,
                                             std::span<const std::size_t> buckets) {
  check(options, communicator.rank());
  GradientSums::Parts parts = parts_of_whole_sums(options);
  parts.exchange = plan_ring_exchange(communicator, options.summation, parts.merge.results(),
                                      {parts.memory_of_sum(), options.elements}, buckets);
  return std::make_unique<GradientSums>(std::move(parts));
}

}  // namespace lockstep
