#pragma once

#include <span>
#include <vector>

#include "graph/graph.h"
#include "ops/plan_layout.h"

namespace lockstep {

/// Bytes that an operation must move at least: each value, gradient and parameter that it needs, once.
struct NodeTraffic {
  double forward = 0.0;
  double backward = 0.0;
};

/// Traffic of all nodes of a graph, whose gradients are `flow` and whose blocks of memory are `nodes`.
std::vector<NodeTraffic> count_traffic(const Graph& graph, const ArenaLayout& layout,
                                       const GradientFlow& flow, std::span<const NodeBytes> nodes);

}  // namespace lockstep
