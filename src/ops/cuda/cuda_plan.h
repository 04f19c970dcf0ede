#pragma once

#include <map>
#include <vector>

#include "ops/cuda/gradient_buckets.h"
#include "ops/cuda/op.h"
#include "ops/graph_walk.h"

namespace lockstep::cuda {

/// A graph compiled for a GPU. Functions enqueue work on a stream and return. All addresses are device
/// addresses. `parameters` and `gradients` are arenas of the plan's layout, with zeros in the gaps.
/// Concurrent passes need separate workspaces.
class CudaPlan : public GraphWalk<CudaPlan> {
 public:
  /// Compiles for micro-batches of options.samples. `dnn` must outlive all calls of compile_for. Throws
  /// Error(resource) if the library cannot run an operation.
  CudaPlan(const Graph& graph, const ArenaLayout& layout, const PlanOptions& options, Type type, Dnn& dnn);

  /// Compiles for micro-batches of exactly `samples`, 1 to options.samples; operations of the library have
  /// fixed sizes. Call before workspace_bytes(), because the layout of workspaces changes. Earlier copies of
  /// the plan keep their layout.
  void compile_for(int samples);

  /// Size of a workspace, which must be aligned to 256 bytes.
  std::size_t workspace_bytes() const { return buckets_offset() + buckets_.bytes; }

  /// The network's input, to be written before forward: [sample][row][column][padded channel] of
  /// image_shape(), of the plan's type.
  void* images(std::byte* workspace) const { return value(0, workspace); }
  /// Shape of the leading rows and columns of an image that the network reads.
  Shape image_shape() const { return graph_.nodes[0].shape; }
  Type type() const { return type_; }

  /// Converts the parameters to the form that operations read. Call after every change of parameters.
  void prepare(StreamHandle stream, const float* parameters, std::byte* workspace) const;
  /// Runs nodes of a micro-batch of a compiled size from first to last. Writes `result` if the range contains
  /// the loss. Reads samples from images(), not from batch.samples.
  void forward(StreamHandle stream, const MicroBatch& batch, NodeRange range, const float* parameters,
               LeafResult* result, std::byte* workspace) const;
  /// Class of the largest logit of each sample. Valid after forward.
  const std::int32_t* predictions(const std::byte* workspace) const;
  /// The network's outputs, of the plan's type: [sample][padded channel]. Valid after forward.
  const void* outputs(std::byte* workspace) const { return value(at(graph_.output), workspace); }
  int outputs_size() const { return graph_.nodes[at(graph_.output)].shape.channels; }  ///< of a sample
  /// Runs nodes backward after forward, from last to first; overwrites `gradients` with the gradients of the
  /// summed loss. Training plans only. Gradients of frozen parameters are unspecified.
  void backward(StreamHandle stream, const MicroBatch& batch, NodeRange range, const float* parameters,
                float* gradients, std::byte* workspace) const;
  /// Parts of the backward pass in the order of execution. Together they contain all nodes.
  std::vector<GradientPart> parts() const;

 private:
  friend GraphWalk<CudaPlan>;

  /// Operations compiled for one number of samples.
  struct Operations {
    std::vector<Op> nodes;
    Loss loss;
  };

  /// The last contribution to a gradient, if the operation that reads the gradient next adds it.
  struct Join {
    int reader = -1;  ///< node that makes the contribution; -1: none
    std::size_t input = 0;
  };
  std::vector<Join> find_joins(const Operations& operations) const;

  // A pass on the GPU, and the functions that GraphWalk calls.
  struct CudaPass : Pass {
    StreamHandle stream = nullptr;
    const Operations* operations = nullptr;
    WeightPadding* padding = nullptr;  ///< set in prepare
    GradientFinish* finish = nullptr;  ///< set in backward
  };
  CudaPass pass(StreamHandle stream, const MicroBatch& batch, const float* parameters,
                std::byte* workspace) const;
  /// Extends GraphWalk's view of memory by the members that only GPUs use.
  OpMemory on_device(const NodeMemory<void>& memory, const CudaPass& pass, std::size_t node) const;
  void run_forward(const CudaPass& pass, std::size_t node, const NodeMemory<void>& memory) const {
    pass.operations->nodes[node].forward(on_device(memory, pass, node));
  }
  /// Never called, because no operation is recomputable on GPUs.
  static void recompute(const CudaPass& /*pass*/, std::size_t /*node*/, const NodeMemory<void>& /*memory*/) {}
  void run_backward(const CudaPass& pass, std::size_t node, const NodeMemory<void>& memory) const {
    pass.operations->nodes[node].backward(on_device(memory, pass, node));
  }
  static void run_loss(const CudaPass& pass, const LossTensors<void>& memory) {
    pass.operations->loss.run(pass.stream, memory);
  }
  static void clear(const CudaPass& pass, float* first, std::size_t elements);
  void add(const CudaPass& pass, std::size_t node, void* sum, const void* more) const;
  bool adds_later(std::size_t node, std::size_t input) const;
  void finish_node(const CudaPass& pass, std::size_t node) const;

  const Operations& operations_for(int samples) const;
  WorkspaceBytes needed_bytes() const;
  std::size_t buckets_offset() const;
  std::size_t value_bytes(std::size_t node, int samples) const;

  Type type_;
  Dnn* dnn_;
  std::map<int, Operations> operations_;
  std::vector<Join> joins_;  ///< by the node that owns the gradient
  GradientBuckets buckets_;  ///< stored after the rest of the workspace
};

}  // namespace lockstep::cuda
