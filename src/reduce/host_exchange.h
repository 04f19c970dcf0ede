#pragma once

#include <memory>
#include <vector>

#include "comm/host_ranks.h"
#include "core/tree.h"
#include "reduce/summation.h"

namespace lockstep {

/// A way for partial sums over several hosts, and which subtrees its inputs are the sums of.
struct HostExchange {
  std::unique_ptr<SumExchange> exchange;
  std::vector<Node> inputs;
};

/// The partial sums of a host's ranks are merged, as far as the tree allows, by the ranks that have them as
/// their share; what is left travels between hosts: as many bytes as of one rank per host. The bits are those
/// of any other way. `layout`: as for Communicator::plan_sum; `nodes`: the subtrees that every rank brings
/// the sums of. `summation` outlives it. Collective.
HostExchange plan_host_exchange(HostsCommunicator& communicator, Summation& summation,
                                const SumLayout& layout, const std::vector<std::vector<Node>>& nodes);

}  // namespace lockstep
