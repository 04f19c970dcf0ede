#pragma once

#include <vector>

#include "ops/cpu/op.h"
#include "ops/plan_layout.h"

/// Operations that run one after the other on a piece of the channels, then on the next piece, so that what
/// one writes is still in the second-level cache when the next reads it. Whole tensors would come from
/// memory.
namespace lockstep::cpu {

/// Chains of nodes, each as long as possible, of at least two nodes. Nodes of a chain compute each channel
/// from the same channel of the node before, which no other node reads. None for more than 16 samples, whose
/// channels are in several places.
std::vector<NodeRange> find_chains(const Graph& graph, const GradientFlow& flow, int samples);

/// The graph in which the last node of each chain stands for the whole chain: it has the inputs of the first
/// node and the parameters of all. The other nodes stay, without inputs, parameters and channels.
Graph with_chains(Graph graph, const std::vector<NodeRange>& chains);

/// Channels of a piece: the largest divisor of all channels with which the piece's values and gradients fit
/// into a part of the second-level cache; at least one.
int channels_of_piece(const Graph& graph, NodeRange nodes, DataType dtype);

/// Plans nodes of `graph`, the graph before with_chains, as one operation. `request`: for the node that
/// replaces them; `backward`: whether gradients are computed.
Op plan_chain(const Graph& graph, NodeRange nodes, const OpRequest& request, bool backward);

}  // namespace lockstep::cpu
