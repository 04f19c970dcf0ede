#pragma once

#include <span>
#include <vector>

#include "ops/cpu/op.h"
#include "ops/graph_walk.h"
#include "ops/plan.h"

namespace lockstep::cpu {

/// A graph compiled for CPU executors and micro-batches of up to options.samples. Immutable: any number of
/// executors can run it concurrently. Each needs a separate workspace, aligned to 64 bytes. `parameters` and
/// `gradients` are arenas of the plan's layout.
class CpuPlan : public GraphWalk<CpuPlan> {
 public:
  /// `dtype`: type of stored activations, fp32 or bf16.
  CpuPlan(const Graph& graph, const ArenaLayout& layout, const PlanOptions& options, Level level,
          DataType dtype = DataType::fp32);

  std::size_t workspace_bytes() const { return memory_.bytes; }
  /// Whether a node multiplies bf16 values, with or without bf16 instructions.
  bool multiplies_bf16(std::size_t node) const { return ops_[node].multiplies_bf16; }
  /// Copies the samples of a micro-batch into the lanes of the workspace, and pads the micro-batch's labels
  /// and shares to whole groups.
  void load(const MicroBatch& batch, const SampleFormat& format, std::byte* workspace) const;
  /// Runs nodes of the loaded micro-batch, which may be empty, from first to last. Writes `result` if the
  /// range contains the loss.
  void forward(const MicroBatch& batch, NodeRange range, const float* parameters, LeafResult* result,
               std::byte* workspace) const;
  /// Class of each sample's largest logit, stored in the workspace. Valid after forward.
  std::span<const std::int32_t> predictions(const MicroBatch& batch, const std::byte* workspace) const;
  /// Writes the network's outputs for each sample, [sample][output]. Call after forward.
  void write_outputs(const MicroBatch& batch, std::byte* workspace, float* outputs) const;
  std::size_t outputs_size() const;  ///< number of outputs per sample
  /// After forward, runs backward of nodes from last to first; overwrites `gradients` with gradients of the
  /// summed loss. Training plans only. Gradients of frozen parameters are unspecified.
  void backward(const MicroBatch& batch, NodeRange range, const float* parameters, float* gradients,
                std::byte* workspace) const;

 private:
  friend GraphWalk<CpuPlan>;
  CpuPlan(const Graph& graph, const std::vector<NodeRange>& chains, const ArenaLayout& layout,
          const PlanOptions& options, Level level, DataType dtype);

  // Called by GraphWalk.
  void run_forward(const Pass& /*pass*/, std::size_t node, const AnyMemory& memory) const {
    ops_[node].forward(memory);
  }
  void recompute(const Pass& /*pass*/, std::size_t node, const AnyMemory& memory) const {
    ops_[node].recompute(memory);
  }
  void run_backward(const Pass& /*pass*/, std::size_t node, const AnyMemory& memory) const {
    ops_[node].backward(memory);
  }
  void run_loss(const Pass& /*pass*/, const LossTensors<void>& memory) const { loss_(memory); }
  static void clear(const Pass& pass, float* first, std::size_t elements);
  void add(const Pass& pass, std::size_t node, void* sum, const void* more) const;
  static bool adds_later(std::size_t /*node*/, std::size_t /*input*/) { return false; }
  static void finish_node(const Pass& /*pass*/, std::size_t /*node*/) {}

  WorkspaceBytes needed_bytes() const;
  bool stores_bf16() const { return dtype_ == DataType::bf16; }

  Level level_;
  DataType dtype_;
  std::vector<Op> ops_;
  Loss loss_;
};

}  // namespace lockstep::cpu
