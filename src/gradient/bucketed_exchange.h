#pragma once

#include <memory>
#include <span>
#include <vector>

#include "comm/communicator.h"
#include "core/tree.h"
#include "gradient/partial_sum_plan.h"
#include "gradient/summation.h"

namespace lockstep {

/// Plans an exchange that leaves the whole sum on every rank, by the library's allreduce; the bits depend on
/// the number of ranks. Every rank owns all elements, in one chunk, whose only input is `sum`: the arena of
/// the first of `partials`; without any, other memory of the arenas' device. `buckets`: first elements of the
/// parts that are summed one by one, the last part first, as soon as they are ready, beside later work of the
/// stream if the communicator can do that; ascending from 0, equal on all ranks. Collective.
std::unique_ptr<SumExchange> plan_ring_exchange(Communicator& communicator, Summation& summation,
                                                const std::vector<Partial>& partials, std::span<float> sum,
                                                std::span<const std::size_t> buckets);

/// Elements of all partial sums of a bucket, 4 MB, up to which every rank gets them all and folds them. That
/// takes one exchange; otherwise each rank folds a part of the bucket, and a second exchange gathers the
/// parts, with as many bytes as the ring.
constexpr std::size_t gathered_elements = std::size_t{1} << 20;

/// Plans the same exchange with sums in the order of the tree, whose bits do not depend on the number of
/// ranks. `counts`: number of partial sums of every rank; `fold`: program that adds all of them, in rank
/// order; `gathered`: see gathered_elements. Collective.
std::unique_ptr<SumExchange> plan_tree_exchange(Communicator& communicator, Summation& summation,
                                                const std::vector<Partial>& partials,
                                                const std::vector<std::uint32_t>& counts, const Fold& fold,
                                                std::span<float> sum, std::span<const std::size_t> buckets,
                                                std::size_t gathered);

}  // namespace lockstep
