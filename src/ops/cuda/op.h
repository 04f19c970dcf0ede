#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "device/cuda/launch.h"
#include "graph/graph.h"
#include "graph/operations.h"
#include "ops/cuda/dnn.h"
#include "ops/cuda/kernels/conv_weights.h"
#include "ops/cuda/kernels/finish_gradients.h"
#include "ops/plan.h"

namespace lockstep::cuda {

/// One operation's view of the device's memory during one micro-batch. Activations and their gradients:
/// [sample][row][column][channel], channels padded with zeros (dnn.h), of the plan's type. Vectors: 1 x 1
/// images. Pointers that an operation does not have are null; all are device addresses, aligned to 256 bytes
/// but for parameters (64).
struct OpMemory {
  StreamHandle stream = nullptr;
  /// What one kernel does for several operations, which add their share. `padding`: in prepare; `finish`: in
  /// backward, at most one thing of each kind for an operation.
  WeightPadding* padding = nullptr;
  GradientFinish* finish = nullptr;
  std::array<const void*, max_inputs> inputs{};
  void* output = nullptr;  ///< backward: to read, where the operation asked for it
  const void* grad_output = nullptr;
  /// What is to be added to it, of operations that say backward_adds; else null.
  const void* more_grad_output = nullptr;
  /// Written, not added to; null where the gradient of that input is not wanted.
  std::array<void*, max_inputs> grad_inputs{};
  /// In the order of the network's: weight, bias, running mean, running variance; plain PyTorch layouts.
  std::array<const float*, max_parameters> parameters{};
  /// Sums over the samples, written, not added to; same layout as the parameters. Running statistics:
  /// samples * what the micro-batch observed.
  std::array<float*, max_parameters> grad_parameters{};
  std::byte* prepared = nullptr;         ///< kept for all of a step: what `prepare` made of the parameters
  std::byte* saved = nullptr;            ///< kept from forward to backward
  std::byte* left = nullptr;             ///< written by backward, kept for `finish`
  std::byte* scratch = nullptr;          ///< free between calls
  const std::int32_t* labels = nullptr;  ///< loss only: [sample]
  /// Loss only, of plans for mixed samples, else null: the partner's label, and the share of the sample's
  /// own.
  const std::int32_t* other_labels = nullptr;
  const float* shares = nullptr;
  const std::uint64_t* ids = nullptr;   ///< dropout only: of the samples
  const RandomKey* random = nullptr;    ///< dropout only
  std::int32_t* predictions = nullptr;  ///< loss only: [sample]
  LeafResult* result = nullptr;         ///< loss only
};

/// How one operation runs on a GPU, for micro-batches of exactly the planned number of samples. The functions
/// give work to the stream and return; no allocation.
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

/// What an op is planned from.
struct OpRequest {
  const GraphNode& node;
  std::array<Shape, max_inputs> inputs;  ///< shapes of its inputs as stored (cropped, not padded)
  int samples;
  bool training;        ///< false: forward only, running statistics, no dropout
  bool input_gradient;  ///< whether backward must write grad_inputs
  Type type;
  Dnn& dnn;
  int position = 0;  ///< of the node in the graph
};

/// The plan of the node's operation.
Op plan_op(const OpRequest& request);

// plan(options, request) for each operation, which request.node holds: a file of each name.
#define LOCKSTEP_DECLARE_PLAN(Options) Op plan(const Options& options, const OpRequest& request);
LOCKSTEP_OPERATIONS(LOCKSTEP_DECLARE_PLAN)
#undef LOCKSTEP_DECLARE_PLAN

/// Softmax and cross-entropy, summed over the samples; writes the gradient of the sum with respect to the
/// logits into grad_inputs[0] in forward already when it is not null. No backward. `smoothing`: the share of
/// every target that is spread evenly over the classes (Szegedy et al., 2016).
Op plan_cross_entropy(Shape logits, int samples, float smoothing, Type type);

}  // namespace lockstep::cuda
