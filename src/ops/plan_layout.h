#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "graph/graph.h"
#include "ops/plan.h"

/// Device-independent parts of plans: the gradients to compute, the lifetime and place of each block of
/// memory, and the bytes that operations move.
namespace lockstep {

/// Contribution of an operation to the gradient of one of its inputs.
struct Contribution {
  bool wanted = false;
  /// Whether it is written in place. Later ones are computed in a buffer, then added, in backward order.
  bool first = false;
};

/// Gradients that a plan computes.
struct GradientFlow {
  std::vector<bool> needed;  ///< by node: whether it or a node before it has parameters that are not frozen
  std::vector<std::array<Contribution, max_inputs>> contributions;  ///< by node and input

  bool needed_by_any(const std::vector<int>& ids) const;
};

/// Finds the gradients to compute: none without training.
GradientFlow trace_gradients(const Graph& graph, const PlanOptions& options);

/// Shapes of the node's inputs.
std::array<Shape, max_inputs> input_shapes(const Graph& graph, const GraphNode& node);

/// Elements [begin, end) of an arena.
struct ArenaRange {
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// Ranges of the arena whose gradients backward must clear because all parameters there are frozen, or
/// nothing reads their layers. They include the gaps after parameters; adjacent ranges are merged.
std::vector<ArenaRange> ranges_without_gradient(const Graph& graph, const ArenaLayout& layout,
                                                const GradientFlow& flow);

/// A block of memory that is in use from step `first` to step `last`, both included.
struct MemoryBlock {
  std::size_t bytes = 0;
  int first = 0;
  int last = 0;
  std::size_t offset = 0;
};

/// Sets the offsets of blocks, multiples of the alignment, so that blocks in use at the same step never
/// overlap. Places the largest block first, each at the lowest offset free during its life. Returns the total
/// bytes.
std::size_t place_blocks(std::span<MemoryBlock> blocks, std::size_t alignment = 64);

/// A node's memory in bytes, for the largest micro-batch.
struct NodeBytes {
  std::size_t value = 0;     ///< of the result, and of its gradient
  std::size_t saved = 0;     ///< kept from forward to backward
  std::size_t prepared = 0;  ///< kept for all micro-batches of a step
  std::size_t scratch = 0;   ///< used while it runs, in any direction; node 0: while samples are loaded
  std::size_t left = 0;      ///< kept until its gradients are finished; has no place in a WorkspaceLayout
  std::size_t backward_reads_inputs = 0;  ///< number of its inputs, the first ones
  bool backward_reads_output = false;
  bool recomputable = false;  ///< whether its result can be computed again in backward
};

/// Memory that the operations of an executor need.
struct WorkspaceBytes {
  std::vector<NodeBytes> nodes;
  std::size_t loss_scratch = 0;
  std::size_t samples = 0;     ///< entries of arrays with one entry per sample
  std::size_t alignment = 64;  ///< of every block
};

/// Offsets in bytes in an executor's workspace. Blocks that are not in use at the same time share memory.
struct WorkspaceLayout {
  /// Offset of a block that does not exist.
  static constexpr std::size_t none = static_cast<std::size_t>(-1);
  struct Node {
    std::size_t value = none;
    std::size_t value_in_backward = none;  ///< the same block, unless the result is computed again
    std::size_t gradient = none;
    std::size_t saved = none;
    std::size_t prepared = none;
    std::size_t scratch = none;
    std::size_t scratch_in_backward = none;
    std::size_t scratch_in_recompute = none;
  };
  std::vector<Node> nodes;
  /// By node: nodes to be computed again, in this order, before its backward.
  std::vector<std::vector<int>> recomputed_before;
  std::size_t loss_scratch = none;
  std::array<std::size_t, max_inputs> aside{};  ///< buffers for later contributions, by input
  std::size_t predictions = 0;
  std::size_t bytes = 0;  ///< total
};

/// With options.recompute, results of recomputable nodes are dropped after the last forward node that reads
/// them, and computed again before the first backward that does, if that takes less memory.
WorkspaceLayout lay_out_workspace(const Graph& graph, const PlanOptions& options, const GradientFlow& flow,
                                  const WorkspaceBytes& bytes);

/// Bytes that an operation must move at least: each value, gradient and parameter that it needs, once.
struct NodeTraffic {
  double forward = 0.0;
  double backward = 0.0;
};

/// Traffic of all nodes of a graph, whose gradients are `flow` and whose blocks of memory are `nodes`.
std::vector<NodeTraffic> count_traffic(const Graph& graph, const ArenaLayout& layout,
                                       const GradientFlow& flow, std::span<const NodeBytes> nodes);

}  // namespace lockstep
