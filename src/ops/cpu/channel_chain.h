#pragma once

#include <vector>

#include "ops/cpu/op.h"
#include "ops/plan_layout.h"

/// Operations that run one after the other on a few channels at a time, so that what one writes is still in
/// the second-level cache when the next reads it. Whole tensors would come from memory.
namespace lockstep::cpu {

/// Chains of nodes, each as long as possible, of at least two nodes. Nodes of a chain compute each channel
/// from the same channel of the node before, which no other node reads. None for more than 16 samples: their
/// channels are in several places.
std::vector<NodeRange> find_chains(const Graph& graph, const GradientFlow& flow, int samples);

/// The graph with the last node of each chain in place of the chain: it has the first one's inputs, and the
/// parameters of all. The other nodes remain without inputs, parameters and channels.
Graph with_chains(Graph graph, const std::vector<NodeRange>& chains);

/// Plans a chain of `graph`, which has all its nodes. `request`: of the node in its place; `backward`:
/// whether it has gradients.
Op plan_chain(const Graph& graph, NodeRange chain, const OpRequest& request, bool backward);

}  // namespace lockstep::cpu
