#pragma once

#include <memory>
#include <span>
#include <vector>

#include "comm/communicator.h"
#include "core/tree.h"
#include "gradient/partial_sum_plan.h"
#include "gradient/summation.h"

namespace lockstep {

/// Plans an exchange that leaves the whole sum on every rank, using the library's allreduce; the bits depend
/// on the number of ranks. Every rank owns all elements, in one chunk, whose only input is `sum`: the arena
/// of the first of `partials` or, if there are none, other memory of the arenas' device. `buckets`: first
/// elements of the parts, ascending from 0, equal on all ranks. The parts are summed one by one, the last
/// part first, as soon as they are ready, and concurrently with later work of the stream if the communicator
/// supports that. Collective.
std::unique_ptr<SumExchange> plan_ring_exchange(Communicator& communicator, Summation& summation,
                                                const std::vector<Partial>& partials, std::span<float> sum,
                                                std::span<const std::size_t> buckets);

/// Maximum number of elements (4 MB) of all partial sums of a bucket for which every rank gathers and folds
/// all of them, in one exchange. For a larger bucket, each rank folds a part, and a second exchange gathers
/// the parts; this transfers as many bytes as the ring.
constexpr std::size_t gathered_elements = std::size_t{1} << 20;

/// Same as plan_ring_exchange, but sums in the order of the tree: the bits do not depend on the number of
/// ranks. `counts`: number of partial sums of every rank; `fold`: program that adds the partial sums of all
/// ranks, in rank order; `gathered`: see gathered_elements. Collective.
std::unique_ptr<SumExchange> plan_tree_exchange(Communicator& communicator, Summation& summation,
                                                const std::vector<Partial>& partials,
                                                const std::vector<std::uint32_t>& counts, const Fold& fold,
                                                std::span<float> sum, std::span<const std::size_t> buckets,
                                                std::size_t gathered);

}  // namespace lockstep
