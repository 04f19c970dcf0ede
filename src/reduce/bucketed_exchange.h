#pragma once

#include <memory>
#include <span>
#include <vector>

#include "comm/communicator.h"
#include "core/tree.h"
#include "reduce/partial_sum_plan.h"
#include "reduce/summation.h"

namespace lockstep {

/// Exchanges that leave the whole sum on every rank: each owns all `elements`, in one chunk with one input.
/// That input is the sum, in the arena of the first of `partials`, or in memory of the exchange on a rank
/// without any. `buckets`: first elements of the parts that are summed one by one, the last part first, as
/// soon as they are ready, beside later work of the stream if the communicator can do that; ascending from 0,
/// equal on all ranks. The planning is collective.

/// Sum by the library's allreduce. The bits depend on the number of ranks.
std::unique_ptr<SumExchange> plan_ring_exchange(Communicator& communicator, Summation& summation,
                                                const std::vector<Partial>& partials, std::size_t elements,
                                                std::span<const std::size_t> buckets);

/// Elements of all partial sums of a bucket, 4 MB, up to which every rank gets them all and folds them. That
/// takes one exchange; otherwise each rank folds a part of the bucket, and a second exchange gathers the
/// parts, with as many bytes as the ring.
constexpr std::size_t gathered_elements = std::size_t{1} << 20;

/// Sum in the order of the tree. `counts`: number of partial sums of every rank; `fold`: program that adds
/// all of them, in rank order.
std::unique_ptr<SumExchange> plan_tree_exchange(Communicator& communicator, Summation& summation,
                                                const std::vector<Partial>& partials,
                                                const std::vector<std::uint32_t>& counts, const Fold& fold,
                                                std::size_t elements, std::span<const std::size_t> buckets,
                                                std::size_t gathered = gathered_elements);

}  // namespace lockstep
