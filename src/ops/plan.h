#pragma once

#include <cstddef>
#include <vector>

#include "core/step_state.h"
#include "graph/graph.h"
#include "lockstep/task.h"

namespace lockstep {

/// Maximum number of parameters of an operation, or of several that a device runs as one.
constexpr std::size_t max_parameters = 12;

/// Sums over the samples of one micro-batch.
using LeafResult = LossSums;

/// Nodes [begin, end) of a graph. Node 0 is the input; the number after the last node stands for the loss.
struct NodeRange {
  std::size_t begin = 0, end = 0;
  bool operator==(const NodeRange&) const = default;
};

/// A part of the backward pass, which runs from the last node to the first. After it, gradients of the
/// arena's elements from `final_from` on are final.
struct GradientPart {
  NodeRange nodes;
  std::size_t final_from = 0;
};

/// Purpose that a graph is compiled for.
struct PlanOptions {
  int samples = 0;       ///< maximum in a micro-batch
  bool training = true;  ///< whether to compile the backward pass
  Task task = Task::classification;
  float label_smoothing = 0.0F;  ///< in [0, 1); classification only
  /// Whether each parameter of the network is frozen. Backward stops where everything before is frozen.
  /// Empty: none is.
  std::vector<bool> frozen = {};
  /// Whether results that are cheap to compute are computed again in backward instead of kept. CPU only.
  bool recompute = false;
  /// Whether nodes can run alone: blocks of the workspace share no memory, and no nodes run as one.
  bool nodes_apart = false;
};

}  // namespace lockstep
