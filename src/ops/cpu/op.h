#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/bfloat16.h"
#include "graph/graph.h"
#include "graph/operations.h"
#include "lockstep/execution.h"
#include "ops/cpu/level.h"
#include "ops/op_memory.h"
#include "ops/plan.h"
#include "ops/scratch_layout.h"

namespace lockstep::cpu {

/// Number of images in a group, one per SIMD lane. Activations are floats or bf16
/// [group][channel][row][column][16 images], aligned to a pixel: 64 or 32 bytes. Missing lanes of the last
/// group hold zeros in the network's input and in every gradient, and arbitrary finite values in other
/// activations.
constexpr int lanes = 16;
constexpr int groups_of(int samples) { return (samples + lanes - 1) / lanes; }

/// An operation's view of memory. Activations have the type that the operation was planned for.
using AnyMemory = NodeMemory<void>;
using OpMemory = NodeMemory<float>;

/// An operation planned for CPU executors and a maximum number of samples per micro-batch. Does not depend on
/// the number of executors; allocates nothing when run. Call hwy::FlushStream() before other threads read the
/// results.
struct Op {
  std::size_t saved_bytes = 0;
  std::size_t scratch_bytes = 0;
  std::size_t backward_reads_inputs = 0;  ///< how many inputs backward reads, counted from the first
  bool backward_reads_output = false;
  bool takes_bf16 = false;       ///< whether activations have type request.dtype; false: they are floats
  bool multiplies_bf16 = false;  ///< whether bf16 values are multiplied, with or without bf16 instructions
  std::function<void(const AnyMemory&)> forward;
  std::function<void(const AnyMemory&)> backward;
  /// Recomputes the output in backward from inputs, parameters and saved memory. Null if recomputing would be
  /// slow.
  std::function<void(const AnyMemory&)> recompute;
};

/// Makes an Op that calls forward(layer, memory) and backward(layer, memory), for activations of type
/// `Element`.
template <class Element = float, class Layer>
Op op_of(Layer layer) {
  const auto shared = std::make_shared<const Layer>(std::move(layer));
  Op op;
  op.forward = [shared](const NodeMemory<Element>& memory) { forward(*shared, memory); };
  op.backward = [shared](const NodeMemory<Element>& memory) { backward(*shared, memory); };
  return op;
}

/// Arrays with one entry per sample are [group][16]. In missing lanes, labels are -1 and shares are 1.
using LossMemory = LossTensors<float>;

/// The loss planned for a CPU executor.
using Loss = std::function<void(const LossTensors<void>&)>;

using ScratchLayout = lockstep::ScratchLayout<float, 64>;

/// Bytes of a stored activation.
constexpr std::size_t element_bytes(DataType dtype) {
  return dtype == DataType::bf16 ? sizeof(Bfloat16) : sizeof(float);
}
/// Bytes of a value of this shape, or of the value's gradient, with `element` bytes per activation.
inline std::size_t stored_bytes(const Shape& shape, int samples, std::size_t element) {
  return shape.size() * lanes * groups_of(samples) * element;
}
/// Bytes of the bits that ReLU or dropout saves, [group][pixel].
constexpr std::size_t mask_bytes(std::size_t pixels, int samples) {
  return pixels * groups_of(samples) * sizeof(std::uint16_t);
}

inline float* floats_at(std::byte* memory, std::size_t offset) {
  return reinterpret_cast<float*>(memory + offset);
}

/// Input for planning an operation.
struct OpRequest {
  const GraphNode& node;
  std::array<Shape, max_inputs> inputs;  ///< shapes of the node's inputs as stored (cropped)
  int samples;                           ///< maximum per micro-batch
  bool training;                         ///< if false: forward only, running statistics, no dropout
  bool input_gradient;                   ///< whether backward must write grad_inputs
  Level level;
  int position = 0;                 ///< position of the node in the graph
  DataType dtype = DataType::fp32;  ///< type of stored activations: fp32 or bf16
  /// Sizes in bytes above which results may be written by streaming stores, which do not load a cache line
  /// from memory before overwriting it.
  struct StreamAbove {
    std::size_t output;
    std::size_t grad_inputs;
  };
  /// Larger results are no longer cached when they are read. Between 24 and 40 MB, the benefit depends on the
  /// other data that a step moves; see docs/performance.md.
  StreamAbove stream_above = {std::size_t{24} << 20, std::size_t{24} << 20};
};

/// Whether to write the output by streaming stores.
template <class Element>
bool streams_output(const OpRequest& request) {
  return stored_bytes(request.node.shape, request.samples, sizeof(Element)) > request.stream_above.output;
}
/// Whether to write the gradient of the first input by streaming stores.
template <class Element>
bool streams_grad_input(const OpRequest& request) {
  return stored_bytes(request.inputs[0], request.samples, sizeof(Element)) > request.stream_above.grad_inputs;
}

/// Plans the node's operation for activations of request.dtype.
Op plan_op(const OpRequest& request);
/// Returns `op`, changed so that backward writes zeros as the bias gradient instead of computing it.
Op with_zero_bias_gradient(const OpRequest& request, Op op);

/// Plans an operation that reads and writes activations as they are stored: calls plan(Element()) with the
/// type of stored activations.
template <class Plan>
Op plan_as_stored(const OpRequest& request, const Plan& plan) {
  Op op = request.dtype == DataType::bf16 ? plan(Bfloat16()) : plan(float());
  op.takes_bf16 = true;
  return op;
}
/// The functions in `kernels` for activations that are stored as `Element`.
template <class Element, class Kernels>
const auto& functions_of(const Kernels& kernels) {
  if constexpr (std::is_same_v<Element, Bfloat16>) {
    return kernels.bf16;
  } else {
    return kernels;
  }
}

// Declares plan(options, request) for each operation; request.node holds the same options.
#define LOCKSTEP_DECLARE_PLAN(Options) Op plan(const Options& options, const OpRequest& request);
LOCKSTEP_OPERATIONS(LOCKSTEP_DECLARE_PLAN)
#undef LOCKSTEP_DECLARE_PLAN

/// Plans the loss of options.task (softmax with cross-entropy, or a loss of ops/target_losses.h), summed over
/// the samples, and the gradient of the sum with respect to the logits.
Loss plan_loss(Shape logits, const PlanOptions& options, Level level);

/// Copies the group of samples that begins at `first` (a multiple of 16) into lanes; see MicroBatch for the
/// arithmetic. Crops samples to their first target.height rows and target.width columns; missing lanes are
/// zeros.
void gather(Level level, const MicroBatch& batch, const SampleFormat& format, int first, Shape target,
            float* out);

}  // namespace lockstep::cpu
