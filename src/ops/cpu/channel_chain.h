#pragma once

#include <vector>

#include "ops/cpu/op.h"
#include "ops/plan_layout.h"

/// Chains of operations that process a piece of the channels at a time, so that each operation reads its
/// input from the second-level cache, where the previous operation wrote it. Whole tensors would come from
/// main memory.
namespace lockstep::cpu {

/// Finds chains of at least two nodes, each chain as long as possible. Each node of a chain computes a
/// channel from the same channel of the previous node, which no other node reads. Returns none for more than
/// 16 samples, because a channel is then not contiguous.
std::vector<NodeRange> find_chains(const Graph& graph, const GradientFlow& flow, int samples);

/// Returns the graph with the last node of each chain replaced by the whole chain: the last node gets the
/// inputs of the first node and the parameters of all nodes. The other nodes remain, without inputs,
/// parameters and channels.
Graph with_chains(Graph graph, const std::vector<NodeRange>& chains);

/// Number of channels per piece: the largest divisor of the number of channels for which the piece's values
/// and gradients fit into a part of the second-level cache, or 1 if none does.
int channels_of_piece(const Graph& graph, NodeRange nodes, DataType dtype);

/// Plans a chain of nodes as one operation. `graph`: the graph before with_chains; `request`: request for the
/// node that replaces the chain; `backward`: whether gradients are computed.
Op plan_chain(const Graph& graph, NodeRange nodes, const OpRequest& request, bool backward);

}  // namespace lockstep::cpu
