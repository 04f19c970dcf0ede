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

/// Plans an exchange in which the ranks of a host first merge their partial sums as far as the tree allows;
/// each rank merges the elements of its shares. Only the merged sums are sent between hosts: as many bytes as
/// with one rank per host. The bits are the same as with every other exchange in the order of the tree.
/// `layout`: as for Communicator::plan_sum; `nodes`: subtrees of the partial sums, by rank. `summation` must
/// outlive the exchange. Collective.
HostExchange plan_host_exchange(const HostParts& parts, Summation& summation, const SumLayout& layout,
                                const std::vector<std::vector<Node>>& nodes);

}  // namespace lockstep
