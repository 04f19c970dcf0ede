#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "device/cuda/launch.h"
#include "graph/graph.h"
#include "graph/operations.h"
#include "ops/cuda/dnn/dnn.h"
#include "ops/cuda/kernels/parameters/conv_weights.h"
#include "ops/cuda/kernels/parameters/finish_gradients.h"
#include "ops/op_memory.h"
#include "ops/plan.h"
#include "ops/scratch_layout.h"

namespace lockstep::cuda {

/// Memory of one operation during one micro-batch. Activations and their gradients:
/// [sample][row][column][channel], channels padded with zeros (dnn.h), of the plan's type; vectors are 1 x 1
/// images. All addresses are in device memory, aligned to 256 bytes except for parameters (64).
struct OpMemory : NodeMemory<void> {
  StreamHandle stream = nullptr;
  /// Kernels that do a part of the work of several operations, which add it. `padding`: in prepare; `finish`:
  /// in backward, at most one item of each kind per operation.
  WeightPadding* padding = nullptr;
  GradientFinish* finish = nullptr;
  /// Gradient to add to grad_output, for operations with backward_adds; otherwise null.
  const void* more_grad_output = nullptr;
  std::byte* prepared = nullptr;  ///< computed by `prepare` from the parameters, kept for the whole step
  std::byte* left = nullptr;      ///< written by backward and read by `finish`
};

/// Plan of an operation on a GPU, for micro-batches of exactly the planned number of samples. The functions
/// enqueue work on the stream and return; they allocate nothing.
struct Op {
  std::size_t prepared_bytes = 0;
  std::size_t saved_bytes = 0;
  std::size_t left_bytes = 0;
  std::size_t scratch_bytes = 0;
  bool backward_reads_inputs = false;
  bool backward_reads_output = false;
  bool backward_adds = false;  ///< backward reads OpMemory::more_grad_output: no kernel need add it before
  std::function<void(const OpMemory&)> prepare;  ///< once a step, before its first micro-batch; may be empty
  std::function<void(const OpMemory&)> forward;
  std::function<void(const OpMemory&)> backward;
};

/// Memory of the loss. Arrays with one entry per sample are [sample].
struct LossMemory : LossTensors<void> {
  StreamHandle stream = nullptr;
};

/// Plan of the loss on a GPU, for exactly the planned number of samples.
struct Loss {
  std::size_t scratch_bytes = 0;
  std::function<void(const LossMemory&)> run;
};

using ScratchLayout = lockstep::ScratchLayout<std::byte, 256>;

/// Everything that an operation is planned from.
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

/// Plan of the node's operation.
Op plan_op(const OpRequest& request);

// plan(options, request) for each operation, which request.node holds: a file of each name.
#define LOCKSTEP_DECLARE_PLAN(Options) Op plan(const Options& options, const OpRequest& request);
LOCKSTEP_OPERATIONS(LOCKSTEP_DECLARE_PLAN)
#undef LOCKSTEP_DECLARE_PLAN

/// Softmax and cross-entropy, summed over the samples, with the gradient of the sum with respect to the
/// logits. `smoothing`: the share of every target that is spread evenly over the classes (Szegedy et al.,
/// 2016).
Loss plan_cross_entropy(Shape logits, int samples, float smoothing, Type type);

}  // namespace lockstep::cuda
