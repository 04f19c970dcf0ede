#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "ops/op_memory.h"
#include "ops/plan_layout.h"

namespace lockstep {

/// Arguments of one pass of a micro-batch through a plan. All pointers are device addresses.
struct Pass {
  MicroBatch batch;                   ///< at least 1 sample
  const float* parameters = nullptr;  ///< an arena of the plan's layout
  float* gradients = nullptr;         ///< an arena of the same layout; backward only
  std::byte* workspace = nullptr;
};

/// Walks a micro-batch through a graph in the same way on all devices: order of operations, contributions to
/// gradients, clearing, loss. `Plan` derives from GraphWalk and provides these functions, for passes of a
/// type derived from Pass:
///
///   void run_forward(pass, node, memory), run_backward(pass, node, memory), run_loss(pass, memory)
///   void recompute(pass, node, memory)   recomputes the node's result; called for recomputable nodes only
///   void clear(pass, float* first, elements)
///   void add(pass, node, void* sum, const void* more)  adds `more` to the gradient of a node's output
///   bool adds_later(node, input)         whether another operation adds the node's contribution to this
///   input WorkspaceBytes needed_bytes()        memory that the plan's operations need void finish_node(pass,
///   node)         called after backward of every node, even if it has no gradient
///
/// `memory` is a NodeMemory<void>, or a LossTensors<void> for run_loss.
template <class Plan>
class GraphWalk {
 public:
  /// Number of nodes, including the input. As a node number, this value stands for the loss.
  std::size_t nodes() const { return graph_.nodes.size(); }
  /// All nodes except the input.
  NodeRange all() const { return {1, nodes()}; }
  NodeRange all_and_loss() const { return {1, nodes() + 1}; }
  const GradientFlow& gradients() const { return flow_; }
  /// Bytes that each node moves for the largest micro-batch.
  std::vector<NodeTraffic> traffic() const {
    return count_traffic(graph_, layout_, flow_, plan().needed_bytes().nodes);
  }

 protected:
  GraphWalk(Graph graph, const ArenaLayout& layout, const PlanOptions& options)
      : graph_(std::move(graph)),
        layout_(layout),
        options_(options),
        flow_(trace_gradients(graph_, options)),
        cleared_(ranges_without_gradient(graph_, layout_, flow_)) {}

  /// Runs nodes from first to last. Writes `result` if the range contains the loss.
  template <class AnyPass>
  void walk_forward(const AnyPass& pass, NodeRange range, LeafResult* result) const {
    for (std::size_t i = std::max<std::size_t>(range.begin, 1); i < std::min(range.end, nodes()); ++i) {
      if (graph_.nodes[i].inputs.empty()) continue;  // unused, or computed as part of a later node
      plan().run_forward(pass, i, node_memory(pass, i));
    }
    if (range.end > nodes()) plan().run_loss(pass, loss_memory(pass, result));
  }

  /// Runs nodes from last to first and writes the gradients of their parameters. If the range contains the
  /// last node, also clears gradients that no node writes, because sums of gradients include them.
  template <class AnyPass>
  void walk_backward(const AnyPass& pass, NodeRange range) const {
    if (range.end >= nodes()) {
      for (const ArenaRange& each : cleared_) {
        plan().clear(pass, pass.gradients + each.begin, each.end - each.begin);
      }
    }
    for (std::size_t i = std::min(range.end, nodes()); i-- > std::max<std::size_t>(range.begin, 1);) {
      for (const int id : memory_.recomputed_before[i]) {
        plan().recompute(pass, at(id), node_memory(pass, at(id), Direction::recompute));
      }
      if (flow_.needed[i]) walk_back(pass, i);
      plan().finish_node(pass, i);
    }
  }

  enum class Direction { forward, backward, recompute };

  /// View of a node's memory, without gradients.
  NodeMemory<void> node_memory(const Pass& pass, std::size_t i,
                               Direction direction = Direction::forward) const {
    const bool forward = direction == Direction::forward;
    const auto place = [&](std::size_t id) {
      const WorkspaceLayout::Node& places = memory_.nodes[id];
      return block(pass.workspace, forward ? places.value : places.value_in_backward);
    };
    const WorkspaceLayout::Node& own = memory_.nodes[i];
    const GraphNode& node = graph_.nodes[i];
    NodeMemory<void> memory;
    memory.samples = static_cast<int>(pass.batch.size);
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      memory.inputs[k] = place(at(node.inputs[k]));
    }
    for (std::size_t k = 0; k < node.parameters.size(); ++k) {
      memory.parameters[k] = pass.parameters + layout_.offsets[at(node.parameters[k])];
    }
    memory.output = place(i);
    memory.saved = block(pass.workspace, own.saved);
    memory.scratch = block(pass.workspace, direction == Direction::recompute ? own.scratch_in_recompute
                                           : forward                         ? own.scratch
                                                                             : own.scratch_in_backward);
    memory.ids = pass.batch.ids;
    memory.random = pass.batch.random;
    return memory;
  }

  void* value(std::size_t node, std::byte* workspace) const {
    return block(workspace, memory_.nodes[node].value);
  }
  /// Gradient of a node's output; null: none.
  void* gradient(std::size_t node, std::byte* workspace) const {
    return block(workspace, memory_.nodes[node].gradient);
  }
  /// Buffer for contributions to the k-th input's gradient, except the first one.
  void* aside(std::size_t k, std::byte* workspace) const { return workspace + memory_.aside[k]; }

  static std::size_t at(int id) { return static_cast<std::size_t>(id); }
  /// Address of a block; null: no such block.
  static std::byte* block(std::byte* workspace, std::size_t offset) {
    return offset == WorkspaceLayout::none ? nullptr : workspace + offset;
  }

  Graph graph_;
  ArenaLayout layout_;
  PlanOptions options_;
  GradientFlow flow_;
  WorkspaceLayout memory_;  ///< set by the plan once its operations are known

 private:
  const Plan& plan() const { return static_cast<const Plan&>(*this); }

  LossTensors<void> loss_memory(const Pass& pass, LeafResult* result) const {
    LossTensors<void> memory;
    memory.samples = static_cast<int>(pass.batch.size);
    const auto output = at(graph_.output);
    memory.logits = value(output, pass.workspace);
    memory.gradient = gradient(output, pass.workspace);
    memory.labels = pass.batch.labels;
    memory.partner_labels = pass.batch.partner_labels;
    memory.targets = pass.batch.targets;
    memory.shares = pass.batch.shares;
    memory.predictions = reinterpret_cast<std::int32_t*>(pass.workspace + memory_.predictions);
    memory.scratch = block(pass.workspace, memory_.loss_scratch);
    memory.result = result;
    return memory;
  }

  template <class AnyPass>
  void walk_back(const AnyPass& pass, std::size_t i) const {
    const GraphNode& node = graph_.nodes[i];
    const auto& contributions = flow_.contributions[i];
    NodeMemory<void> memory = node_memory(pass, i, Direction::backward);
    memory.grad_output = gradient(i, pass.workspace);
    for (std::size_t k = 0; k < node.parameters.size(); ++k) {
      memory.grad_parameters[k] = pass.gradients + layout_.offsets[at(node.parameters[k])];
    }
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      if (!contributions[k].wanted) continue;
      memory.grad_inputs[k] =
          contributions[k].first ? gradient(at(node.inputs[k]), pass.workspace) : aside(k, pass.workspace);
    }
    plan().run_backward(pass, i, memory);
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      if (!contributions[k].wanted || contributions[k].first || plan().adds_later(i, k)) continue;
      const std::size_t input = at(node.inputs[k]);
      plan().add(pass, input, gradient(input, pass.workspace), memory.grad_inputs[k]);
    }
  }

  std::vector<ArenaRange> cleared_;
};

}  // namespace lockstep
