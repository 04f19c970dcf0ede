#pragma once

#include <map>
#include <vector>

#include "ops/cuda/gradient_buckets.h"
#include "ops/cuda/op.h"
#include "ops/graph_walk.h"

namespace lockstep::cuda {

/// Graph compiled for a GPU: the part of a step that is a micro-batch. Its functions enqueue work on a stream
/// and return; addresses are in device memory. `parameters` and `gradients` are arenas of the layout, with
/// zeros in the gaps. Executors that run at the same time have a workspace each.
class CudaPlan : public GraphWalk<CudaPlan> {
 public:
  /// Compiles for micro-batches of options.samples. `dnn` outlives all calls of compile_for. Throws
  /// Error(resource) if the library cannot run an operation.
  CudaPlan(const Graph& graph, const ArenaLayout& layout, const PlanOptions& options, Type type, Dnn& dnn);

  /// Compiles for micro-batches of `samples`, 1 to options.samples, too: plans of the library are for exact
  /// sizes. Comes before workspace_bytes(), and not while the plan is in use.
  void compile_for(int samples);

  /// Memory of an executor: everything but parameters and gradients. Aligned to 256.
  std::size_t workspace_bytes() const { return buckets_offset() + buckets_.bytes; }

  /// The network's input, written before forward: [sample][row][column][padded channel] of image_shape(), of
  /// the plan's type.
  void* images(std::byte* workspace) const { return value(0, workspace); }
  /// The part of an image that the network reads: its leading rows and columns.
  Shape image_shape() const { return graph_.nodes[0].shape; }
  Type type() const { return type_; }

  /// Converts the parameters to the form that operations read; before the first micro-batch after each
  /// change.
  void prepare(StreamHandle stream, const float* parameters, std::byte* workspace) const;
  /// Runs nodes of a micro-batch of a size that was compiled for, first to last. `result` is written where
  /// the loss is among them. Samples need no addresses: `images` are in place.
  void forward(StreamHandle stream, const MicroBatch& batch, NodeRange range, const float* parameters,
               LeafResult* result, std::byte* workspace) const;
  /// Class of the largest logit of each sample, after forward.
  const std::int32_t* predictions(const std::byte* workspace) const;
  /// Writes (does not add) the gradients of the loss's sum that the nodes make, last to first. After forward,
  /// for training plans only. Gradients of frozen parameters are unspecified.
  void backward(StreamHandle stream, const MicroBatch& batch, NodeRange range, const float* parameters,
                float* gradients, std::byte* workspace) const;
  /// Parts of backward in their order, all nodes together.
  std::vector<GradientPart> parts() const;

 private:
  friend GraphWalk<CudaPlan>;

  /// All operations for one number of samples.
  struct Operations {
    std::vector<Op> nodes;
    Loss loss;
  };

  /// Contribution to a gradient that comes last: the operation that reads the gradient next adds it.
  struct Join {
    int reader = -1;  ///< whose contribution it is; -1: there is none
    std::size_t input = 0;
  };
  std::vector<Join> find_joins(const Operations& operations) const;

  // For the walk.
  using Element = void;
  using OpMemory = cuda::OpMemory;
  using LossMemory = cuda::LossMemory;
  struct CudaPass : Pass {
    StreamHandle stream = nullptr;
    const Operations* operations = nullptr;
    WeightPadding* padding = nullptr;  ///< in prepare
    GradientFinish* finish = nullptr;  ///< in backward
  };
  CudaPass pass(StreamHandle stream, const MicroBatch& batch, const float* parameters,
                std::byte* workspace) const;
  void add_to(OpMemory& memory, const CudaPass& pass, std::size_t node) const;
  static void add_to(LossMemory& memory, const CudaPass& pass) { memory.stream = pass.stream; }
  static void run_forward(const CudaPass& pass, std::size_t node, const OpMemory& memory) {
    pass.operations->nodes[node].forward(memory);
  }
  static void run_backward(const CudaPass& pass, std::size_t node, const OpMemory& memory) {
    pass.operations->nodes[node].backward(memory);
  }
  static void run_loss(const CudaPass& pass, const LossMemory& memory) { pass.operations->loss.run(memory); }
  static void clear(const CudaPass& pass, float* first, std::size_t elements);
  void add(const CudaPass& pass, std::size_t node, void* sum, const void* more) const;
  bool adds_later(std::size_t node, std::size_t input) const;
  void finish_node(const CudaPass& pass, std::size_t node) const;

  const Operations& operations_for(int samples) const;
  WorkspaceBytes needed_bytes() const;
  std::vector<std::size_t> left_bytes() const;
  std::size_t buckets_offset() const;
  std::size_t value_bytes(std::size_t node, int samples) const;

  Type type_;
  Dnn* dnn_;
  /// By node: first element of the arena from which on gradients are written once it and all later nodes have
  /// run.
  std::vector<std::size_t> written_from_;
  std::map<int, Operations> operations_;
  std::vector<Join> joins_;  ///< by the node whose gradient it is
  GradientBuckets buckets_;  ///< their memory follows the rest
};

}  // namespace lockstep::cuda
