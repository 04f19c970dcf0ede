#pragma once

#include <array>
#include <cstddef>
#include <functional>

#include "device/cuda/stream_handle.h"
#include "graph/graph.h"
#include "graph/operations.h"
#include "ops/cuda/dnn/dnn.h"
#include "ops/cuda/kernels/parameters/conv_weights.h"
#include "ops/cuda/kernels/parameters/finish_gradients.h"
#include "ops/op_memory.h"
#include "ops/plan.h"
#include "ops/scratch_layout.h"

namespace lockstep::cuda {

/// An operation's view of device memory during one micro-batch. Activations and their gradients are
/// [sample][row][column][channel] of the plan's type, with channels padded by zeros (dnn.h). Vectors are 1 x
/// 1 images. All addresses are device addresses, aligned to 256 bytes, parameters to 64.
struct OpMemory : NodeMemory<void> {
  StreamHandle stream = nullptr;
  WeightPadding* padding = nullptr;  ///< collects work of several operations in prepare
  GradientFinish* finish = nullptr;  ///< collects work in backward: per operation at most one of each kind
  /// Gradient that an operation with backward_adds must add to grad_output; else null.
  const void* more_grad_output = nullptr;
  std::byte* prepared = nullptr;  ///< written by `prepare`, kept for all micro-batches of a step
  std::byte* left = nullptr;      ///< written by backward, kept for `finish`
};

/// An operation planned for a GPU and micro-batches of exactly the planned number of samples. Functions
/// enqueue work on the stream and return; they allocate nothing.
struct Op {
  std::size_t prepared_bytes = 0;
  std::size_t saved_bytes = 0;
  std::size_t left_bytes = 0;
  std::size_t scratch_bytes = 0;
  std::size_t backward_reads_inputs = 0;  ///< number of leading inputs that backward reads
  bool backward_reads_output = false;
  bool backward_adds = false;                    ///< whether backward adds OpMemory::more_grad_output itself
  std::function<void(const OpMemory&)> prepare;  ///< run before the first micro-batch of a step; may be empty
  std::function<void(const OpMemory&)> forward;
  std::function<void(const OpMemory&)> backward;
};

/// The loss planned for a GPU and exactly the planned number of samples. `run` enqueues it.
struct Loss {
  std::size_t scratch_bytes = 0;
  std::function<void(StreamHandle stream, const LossTensors<void>& tensors)> run;
};

using ScratchLayout = lockstep::ScratchLayout<std::byte, 256>;

/// Input for planning an operation.
struct OpRequest {
  const GraphNode& node;
  std::array<Shape, max_inputs> inputs;  ///< shapes of its inputs as stored (cropped, not padded)
  int samples;
  bool training;        ///< false: forward only, running statistics, no dropout
  bool input_gradient;  ///< whether backward must write grad_inputs
  Type type;
  Dnn& dnn;
  int position = 0;  ///< position of the node in the graph
};

/// Number of pixels of the node's output, over all samples.
inline std::size_t pixels_of(const OpRequest& request) {
  const Shape& shape = request.node.shape;
  return static_cast<std::size_t>(request.samples) * shape.height * shape.width;
}

/// Plans the node's operation.
Op plan_op(const OpRequest& request);

// Declares plan(options, request) for each operation; request.node holds the same options.
#define LOCKSTEP_DECLARE_PLAN(Options) Op plan(const Options& options, const OpRequest& request);
LOCKSTEP_OPERATIONS(LOCKSTEP_DECLARE_PLAN)
#undef LOCKSTEP_DECLARE_PLAN

/// Plans the loss of the options' task, summed over the samples, and the gradient of the sum with respect to
/// the logits: softmax and cross-entropy, or a loss of ops/target_losses.h.
Loss plan_loss(Shape logits, int samples, const PlanOptions& options, Type type);

}  // namespace lockstep::cuda
