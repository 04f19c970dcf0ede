#pragma once

#include <memory>
#include <vector>

#include "comm/host_ranks.h"
#include "core/tree.h"
#include "gradient/summation.h"

namespace lockstep {

/// Exchange of partial sums over several hosts, and the subtrees whose sums are its inputs.
struct HostExchange {
  std::unique_ptr<SumExchange> exchange;
  std::vector<Node> inputs;
};

/// Plans an exchange in which the ranks of a host first merge their partial sums as far as the tree allows,
/// each rank the elements of its shares. Only the rest travels between hosts: as many bytes as with one rank
/// per host. The bits are those of every other exchange. `layout`: as for Communicator::plan_sum; `nodes`: by
/// rank, the subtrees of its partial sums. `summation` outlives it. Collective.
HostExchange plan_host_exchange(const HostParts& parts, Summation& summation, const SumLayout& layout,
                                const std::vector<std::vector<Node>>& nodes);

}  // namespace lockstep
