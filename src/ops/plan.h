#pragma once

#include <cstddef>
#include <vector>

#include "core/step_state.h"
#include "graph/graph.h"
#include "lockstep/task.h"

namespace lockstep {

/// Maximum number of parameters of an operation, or of several operations that a device runs as one.
constexpr std::size_t max_parameters = 12;

/// Sums over the samples of one micro-batch.
using LeafResult = LossSums;

/// Nodes [begin, end) of a graph. Node 0 is the input; the number after the last node stands for the loss.
struct NodeRange {
  std::size_t begin = 0, end = 0;
  bool operator==(const NodeRange&) const = default;
};

/// A part of the backward pass, which runs from the last node to the first. After this part, the gradients of
/// arena elements from `final_from` on are final.
struct GradientPart {
  NodeRange nodes;
  std::size_t final_from = 0;
};

/// Options for compiling a graph to a plan.
struct PlanOptions {
  int samples = 0;       ///< maximum in a micro-batch
  bool training = true;  ///< whether to compile the backward pass
  Task task = Task::classification;
  float label_smoothing = 0.0F;  ///< in [0, 1); classification only
  /// Whether each parameter of the network is frozen. Backward skips nodes if they and all nodes before them
  /// are frozen. Empty if no parameter is frozen.
  std::vector<bool> frozen = {};
  /// Whether backward recomputes results that are cheap to compute, instead of keeping them. CPU only.
  bool recompute = false;
  /// Whether single nodes can be run: blocks of the workspace other than scratch share no memory, and no
  /// nodes are merged into one operation.
  bool nodes_apart = false;
};

}  // namespace lockstep
