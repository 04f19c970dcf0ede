#pragma once

#include <map>
#include <vector>

#include "ops/cuda/gradient_buckets.h"
#include "ops/cuda/op.h"
#include "ops/node_range.h"
#include "ops/plan_layout.h"

namespace lockstep::cuda {

/// A graph compiled for a GPU: what of a step is a micro-batch. Its functions give work to a stream and
/// return; addresses are of the device's memory. `parameters` and `gradients` are arenas of the layout, with
/// zeros in the gaps. Executors that run at once have a workspace each.
class CudaPlan {
 public:
  /// Compiled for micro-batches of options.samples. `dnn` must live as long as it is asked to compile. Throws
  /// Error(resource) where the library has no way to run an operation.
  CudaPlan(const Graph& graph, const ArenaLayout& layout, const PlanOptions& options, Type type, Dnn& dnn);

  /// Makes micro-batches of `samples` possible, 1 to options.samples: the library's plans are for exact
  /// sizes. Before workspace_bytes() is asked for. Not safe to call while the plan is in use.
  void compile_for(int samples);

  /// Of an executor: everything but parameters and gradients. Aligned to 256.
  std::size_t workspace_bytes() const { return buckets_offset() + buckets_.bytes; }

  /// Where a micro-batch is brought before it runs.
  struct Inputs {
    void* images = nullptr;  ///< [sample][row][column][padded channel] of image_shape(), of the plan's type
    std::int32_t* labels = nullptr;
    std::int32_t* other_labels = nullptr;  ///< this and the next: of plans for mixed samples, else null
    float* shares = nullptr;
    std::uint64_t* ids = nullptr;
    RandomKey* random = nullptr;
  };
  Inputs inputs(std::byte* workspace) const;
  /// What the network reads of an image: its leading rows and columns.
  Shape image_shape() const { return graph_.nodes[0].shape; }
  Type type() const { return type_; }
  /// Of the graph without what is left out, whose nodes have none.
  const GradientFlow& gradients() const { return flow_; }

  /// Brings the parameters into the form that operations want; before the first micro-batch after they
  /// changed.
  void prepare(StreamHandle stream, const float* parameters, std::byte* workspace) const;
  /// Loss and hits of the micro-batch of `samples` samples, compiled for, go to `result`.
  void forward(StreamHandle stream, int samples, const float* parameters, LeafResult* result,
               std::byte* workspace) const;
  /// After forward: class of the largest logit of each sample.
  const std::int32_t* predictions(const std::byte* workspace) const;
  /// After forward, of training plans: writes (does not add) the gradients of the loss's sum that `nodes`
  /// make, the last node first. Gradients of frozen parameters are unspecified.
  void backward(StreamHandle stream, int samples, NodeRange nodes, const float* parameters, float* gradients,
                std::byte* workspace) const;
  /// Parts of backward in their order, all nodes together.
  std::vector<GradientPart> parts() const;
  std::size_t nodes() const { return graph_.nodes.size(); }

  // What forward consists of, as in Plan; node `i` of the graph.
  void forward_node(StreamHandle stream, std::size_t i, int samples, const float* parameters,
                    std::byte* workspace) const;
  void loss(StreamHandle stream, int samples, LeafResult* result, std::byte* workspace) const;

 private:
  /// All operations for one number of samples.
  struct Operations {
    std::vector<Op> nodes;
    Op loss;
  };

  /// A contribution to a gradient that comes last and is added by the operation that reads the gradient next.
  struct Join {
    int reader = -1;  ///< whose contribution it is; -1: there is none
    std::size_t input = 0;
  };
  std::vector<Join> find_joins(const Operations& operations) const;

  const Operations& operations_for(int samples) const;
  WorkspaceBytes needed_bytes() const;
  std::vector<std::size_t> left_bytes() const;
  std::size_t buckets_offset() const;
  std::size_t value_bytes(std::size_t node, int samples) const;
  void* value(int id, std::byte* workspace) const;
  void* gradient(int id, std::byte* workspace) const;
  OpMemory node_memory(StreamHandle stream, std::size_t i, const float* parameters,
                       std::byte* workspace) const;
  void run_backward(std::size_t i, int samples, OpMemory memory, float* gradients,
                    std::byte* workspace) const;

  Graph graph_;
  ArenaLayout layout_;
  PlanOptions options_;
  Type type_;
  Dnn* dnn_;
  GradientFlow flow_;
  std::vector<ArenaRange> cleared_;  ///< of the arena of gradients, in backward
  /// By node: where in the arena gradients are written from when it, and all after it, were run.
  std::vector<std::size_t> written_from_;
  std::map<int, Operations> operations_;
  WorkspaceLayout memory_;
  std::vector<Join> joins_;  ///< by the node whose gradient it is
  GradientBuckets buckets_;  ///< their memory follows the rest
};

}  // namespace lockstep::cuda
