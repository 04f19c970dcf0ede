#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "graph/graph.h"
#include "ops/plan.h"

/// Parts of plans that are the same on all devices: which gradients there are, and when each block of memory
/// is in use.
namespace lockstep {

/// Gradient that an operation contributes to one of its inputs.
struct Contribution {
  bool wanted = false;
  bool first = false;  ///< written in place; later ones are computed aside, then added, in backward's order
};

/// Gradients that a plan computes. Backward runs from the last node to the first.
struct GradientFlow {
  std::vector<bool> needed;  ///< by node: it, or anything before it, has parameters that are not frozen
  std::vector<std::array<Contribution, max_inputs>> contributions;  ///< by node and input

  bool needed_by_any(const std::vector<int>& ids) const;
};

/// Finds the gradients that a plan computes; one that is not for training computes none.
GradientFlow trace_gradients(const Graph& graph, const PlanOptions& options);

/// Shapes of the node's inputs.
std::array<Shape, max_inputs> input_shapes(const Graph& graph, const GraphNode& node);

/// Elements [begin, end) of an arena.
struct ArenaRange {
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// Ranges of the arena in which backward computes no gradients because all their parameters are frozen: they
/// are to be cleared. A range includes the gaps after parameters; adjacent ranges are joined.
std::vector<ArenaRange> ranges_without_gradient(const Graph& graph, const ArenaLayout& layout,
                                                const GradientFlow& flow);

/// A block of memory that is in use from step `first` to step `last`, both included.
struct MemoryBlock {
  std::size_t bytes = 0;
  int first = 0;
  int last = 0;
  std::size_t offset = 0;
};

/// Sets the blocks' offsets, multiples of the alignment, so that blocks in use at the same step never
/// overlap: largest first, each at the lowest offset that is free during its life. Returns the bytes of all.
std::size_t place_blocks(std::span<MemoryBlock> blocks, std::size_t alignment = 64);

/// A node's memory in bytes, for the largest micro-batch.
struct NodeBytes {
  std::size_t value = 0;     ///< its result, and the gradient of its result
  std::size_t saved = 0;     ///< kept from forward to backward
  std::size_t prepared = 0;  ///< kept for all micro-batches of a step
  bool backward_reads_inputs = false;
  bool backward_reads_output = false;
};

/// Memory that an executor needs, according to the device's operations.
struct WorkspaceBytes {
  std::vector<NodeBytes> nodes;
  std::size_t scratch = 0;     ///< maximum over the operations
  std::size_t samples = 0;     ///< entries of arrays with one per sample
  std::size_t alignment = 64;  ///< of every block
};

/// Offsets in bytes of an executor's memory. Blocks that are not in use at the same time share memory.
struct WorkspaceLayout {
  /// Stands for the offset of a block that does not exist.
  static constexpr std::size_t none = static_cast<std::size_t>(-1);
  struct Node {
    std::size_t value = none;
    std::size_t gradient = none;
    std::size_t saved = none;
    std::size_t prepared = none;
  };
  std::vector<Node> nodes;
  std::size_t scratch = 0;
  std::array<std::size_t, max_inputs> aside{};  ///< later contributions to the gradient of the k-th input
  std::size_t predictions = 0;
  std::size_t bytes = 0;  ///< total
};
WorkspaceLayout lay_out_workspace(const Graph& graph, const PlanOptions& options, const GradientFlow& flow,
                                  const WorkspaceBytes& bytes);

}  // namespace lockstep
