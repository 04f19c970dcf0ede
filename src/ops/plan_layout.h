#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "graph/graph.h"
#include "ops/plan.h"

/// Device-independent parts of plans: the gradients to compute, the lifetime and offset of each memory block,
/// and the bytes that operations move.
namespace lockstep {

/// Contribution of an operation to the gradient of one of its inputs.
struct Contribution {
  bool wanted = false;
  /// Whether the contribution is the first one in backward order. The first contribution is written directly
  /// to the gradient; later ones are computed in a buffer, then added.
  bool first = false;
};

/// Gradients that a plan computes.
struct GradientFlow {
  /// By node: whether the node, or a node that it depends on, has parameters that are not frozen.
  std::vector<bool> needed;
  std::vector<std::array<Contribution, max_inputs>> contributions;  ///< by node and input

  bool needed_by_any(const std::vector<int>& ids) const;
};

/// Finds the gradients to compute; none if `options.training` is false.
GradientFlow trace_gradients(const Graph& graph, const PlanOptions& options);

std::array<Shape, max_inputs> input_shapes(const Graph& graph, const GraphNode& node);

/// Elements [begin, end) of an arena.
struct ArenaRange {
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// Ranges of the arena whose gradients backward must clear, because no node computes them: the parameters are
/// frozen, or nothing reads the output of their layer. Ranges include the gaps after parameters; adjacent
/// ranges are merged.
std::vector<ArenaRange> ranges_without_gradient(const Graph& graph, const ArenaLayout& layout,
                                                const GradientFlow& flow);

/// A block of memory that is in use from step `first` to step `last`, inclusive.
struct MemoryBlock {
  std::size_t bytes = 0;
  int first = 0;
  int last = 0;
  std::size_t offset = 0;
};

/// Sets the offsets of blocks to multiples of `alignment`, so that blocks in use at the same step never
/// overlap. Places larger blocks first, each at the lowest offset that is free throughout its lifetime.
/// Returns the total bytes.
std::size_t place_blocks(std::span<MemoryBlock> blocks, std::size_t alignment = 64);

/// A node's memory in bytes, for the largest micro-batch.
struct NodeBytes {
  std::size_t value = 0;     ///< size of the result, and of the result's gradient
  std::size_t saved = 0;     ///< kept from forward to backward
  std::size_t prepared = 0;  ///< kept for all micro-batches of a step
  std::size_t scratch = 0;   ///< used while the node runs, in any direction; node 0: while samples are loaded
  std::size_t left = 0;      ///< kept until the node's gradients are final; not part of a WorkspaceLayout
  std::size_t backward_reads_inputs = 0;  ///< how many inputs backward reads, counted from the first
  bool backward_reads_output = false;
  bool recomputable = false;  ///< whether the node's result can be recomputed in backward
};

/// Memory that the operations of an executor need.
struct WorkspaceBytes {
  std::vector<NodeBytes> nodes;
  std::size_t loss_scratch = 0;
  std::size_t samples = 0;     ///< length of arrays with one entry per sample
  std::size_t alignment = 64;  ///< alignment of every block
};

/// Offsets in an executor's workspace, in bytes. Blocks that are not in use at the same time may share
/// memory.
struct WorkspaceLayout {
  /// Offset of a block that does not exist.
  static constexpr std::size_t none = static_cast<std::size_t>(-1);
  struct Node {
    std::size_t value = none;
    std::size_t value_in_backward = none;  ///< same as `value`, unless the result is recomputed
    std::size_t gradient = none;
    std::size_t saved = none;
    std::size_t prepared = none;
    std::size_t scratch = none;
    std::size_t scratch_in_backward = none;
    std::size_t scratch_in_recompute = none;
  };
  std::vector<Node> nodes;
  /// By node: the nodes to recompute before this node's backward, in order.
  std::vector<std::vector<int>> recomputed_before;
  std::size_t loss_scratch = none;
  std::array<std::size_t, max_inputs> aside{};  ///< by input: buffer for contributions that are added later
  std::size_t predictions = 0;
  std::size_t bytes = 0;  ///< total
};

/// Lays out the workspace. With options.recompute, and if it saves memory, results of recomputable nodes are
/// dropped after the last forward node that reads them, and recomputed before the first backward node that
/// reads them.
WorkspaceLayout lay_out_workspace(const Graph& graph, const PlanOptions& options, const GradientFlow& flow,
                                  const WorkspaceBytes& bytes);

/// Minimum number of bytes that an operation moves: each value, gradient and parameter that it needs, once.
struct NodeTraffic {
  double forward = 0.0;
  double backward = 0.0;
};

/// Traffic of all nodes of `graph`. `flow`: gradients of the graph; `nodes`: memory of each node.
std::vector<NodeTraffic> count_traffic(const Graph& graph, const ArenaLayout& layout,
                                       const GradientFlow& flow, std::span<const NodeBytes> nodes);

}  // namespace lockstep
