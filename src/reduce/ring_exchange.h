#pragma once

#include <memory>
#include <span>
#include <vector>

#include "comm/communicator.h"
#include "reduce/partial_sum_plan.h"
#include "reduce/summation.h"

namespace lockstep {

/// The library's allreduce as an exchange: every rank owns all `elements`, in one chunk with one input. That
/// input is the sum, in the arena of the first of `partials`, or in memory of the exchange on a rank without
/// any. The bits depend on the number of ranks. `buckets`: first elements of the parts that are summed one by
/// one, the last part first, as soon as they are ready; ascending from 0, equal on all ranks. Collective.
std::unique_ptr<SumExchange> plan_ring_exchange(Communicator& communicator, Summation& summation,
                                                const std::vector<Partial>& partials, std::size_t elements,
                                                std::span<const std::size_t> buckets);

}  // namespace lockstep
