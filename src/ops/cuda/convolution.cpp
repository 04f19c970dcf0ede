#include "ops/cuda/convolution.h"

#include <algorithm>
#include <limits>
#include <memory>

#include "ops/cuda/kernels/column_sum.h"
#include "ops/cuda/kernels/conv_weights.h"
#include "ops/cuda/kernels/element_wise.h"
#include "ops/cuda/kernels/pool_epilogue.h"
#include "ops/cuda/problems.h"
#include "ops/cuda/scratch.h"

namespace lockstep::cuda {
namespace {

/// The gradient passes a ReLU where its output is positive, however large.
constexpr float no_limit = std::numeric_limits<float>::infinity();

/// Everything about a convolution that is known before it runs. Offsets are in bytes.
struct Convolution {
  ConvProblem problem;
  WeightShape weights;
  PoolEpilogue pool;
  ColumnSum bias_sum;
  bool bias = false;
  bool relu = false;
  std::unique_ptr<DnnPlan> forward;
  std::unique_ptr<DnnPlan> backward_data;  ///< null where the input's gradient is not wanted
  std::unique_ptr<DnnPlan> backward_weights;

  std::size_t bias_offset = 0;   ///< in prepared memory; weights are first
  std::size_t library = 0;       ///< in scratch memory, like the rest
  std::size_t output = 0;        ///< before pooling, where backward does not need it
  std::size_t grad_output = 0;   ///< before the epilogue
  std::size_t grad_weights = 0;  ///< as the library writes them
  std::size_t sums = 0;

  bool pools() const { return pool.window > 1; }
  bool keeps_output() const { return pools() && relu; }
  bool undoes_epilogue() const { return pools() || relu; }
};

std::size_t output_elements(const ConvProblem& problem) {
  return static_cast<std::size_t>(problem.samples) * problem.out_height * problem.out_width *
         problem.out_channels;
}

void prepare(const Convolution& conv, const OpMemory& memory) {
  pad_weights(memory.stream, conv.problem, conv.weights, memory.parameters[0],
              conv.bias ? memory.parameters[1] : nullptr, memory.prepared,
              memory.prepared + conv.bias_offset);
}

/// Where forward leaves what pooling reads.
std::byte* before_pooling(const Convolution& conv, const OpMemory& memory) {
  return conv.keeps_output() ? memory.saved : memory.scratch + conv.output;
}

void forward(const Convolution& conv, const OpMemory& memory) {
  void* const output = conv.pools() ? before_pooling(conv, memory) : memory.output;
  void* const input = const_cast<void*>(memory.inputs[0]);  // the library's interface has one kind of pointer
  void* const library = memory.scratch + conv.library;
  if (conv.bias) {
    conv.forward->run(memory.stream,
                      std::array{input, static_cast<void*>(memory.prepared),
                                 static_cast<void*>(memory.prepared + conv.bias_offset), output},
                      library);
  } else {
    conv.forward->run(memory.stream, std::array{input, static_cast<void*>(memory.prepared), output}, library);
  }
  if (conv.pools()) average_pool(memory.stream, conv.pool, output, memory.output);
}

/// The gradient before the epilogue.
void* undo_epilogue(const Convolution& conv, const OpMemory& memory) {
  if (!conv.undoes_epilogue()) return const_cast<void*>(memory.grad_output);
  void* const grad = memory.scratch + conv.grad_output;
  if (conv.pools()) {
    undo_average_pool(memory.stream, conv.pool, conv.relu ? memory.saved : nullptr, memory.grad_output, grad);
  } else {
    undo_clamp(memory.stream, conv.problem.type, output_elements(conv.problem) / channel_unit, no_limit,
               memory.output, memory.grad_output, grad);
  }
  return grad;
}

void backward(const Convolution& conv, const OpMemory& memory) {
  void* const grad = undo_epilogue(conv, memory);
  void* const library = memory.scratch + conv.library;
  if (memory.grad_inputs[0] != nullptr) {
    conv.backward_data->run(
        memory.stream, std::array{grad, static_cast<void*>(memory.prepared), memory.grad_inputs[0]}, library);
  }
  void* const grad_weights = memory.scratch + conv.grad_weights;
  conv.backward_weights->run(memory.stream,
                             std::array{const_cast<void*>(memory.inputs[0]), grad, grad_weights}, library);
  unpad_weights(memory.stream, conv.problem, conv.weights, grad_weights, memory.grad_parameters[0]);
  if (conv.bias) {
    column_sum(memory.stream, conv.bias_sum, grad, memory.grad_parameters[1], memory.scratch + conv.sums);
  }
}

Convolution describe(const OpRequest& request, const ConvolutionOptions& options) {
  const GraphNode& node = request.node;
  Convolution conv;
  conv.problem = conv_problem(node, request.inputs[0], request.samples, request.type);
  conv.weights = {.out_channels = node.shape.channels,
                  .in_channels = request.inputs[0].channels,
                  .groups = options.groups};
  conv.bias = options.bias;
  conv.relu = node.epilogue.relu;
  conv.pool = {.samples = request.samples,
               .channels = conv.problem.out_channels,
               .height = node.shape.height,
               .width = node.shape.width,
               .window = std::max(node.epilogue.pool, 1),
               .type = request.type};
  conv.bias_sum = {
      .pixels = output_elements(conv.problem) / static_cast<std::size_t>(conv.problem.out_channels),
      .stride = conv.problem.out_channels,
      .channels = node.shape.channels,
      .type = request.type};
  return conv;
}

/// Asks the library for its plans; returns the bytes of its memory.
std::size_t compile(const OpRequest& request, Convolution& conv) {
  conv.forward = request.dnn.conv_forward(conv.problem, conv.bias, conv.relu);
  std::size_t bytes = conv.forward->workspace_bytes();
  if (!request.training) return bytes;
  conv.backward_weights = request.dnn.conv_backward_weights(conv.problem);
  bytes = std::max(bytes, conv.backward_weights->workspace_bytes());
  if (!request.input_gradient) return bytes;
  conv.backward_data = request.dnn.conv_backward_data(conv.problem);
  return std::max(bytes, conv.backward_data->workspace_bytes());
}

void lay_out(const OpRequest& request, std::size_t library_bytes, Convolution& conv, Op& op) {
  const std::size_t element = bytes_of(request.type);
  const std::size_t output = output_elements(conv.problem) * element;
  ScratchLayout prepared;
  prepared.add(padded_weights(conv.problem) * element);
  conv.bias_offset = prepared.add(conv.bias ? conv.problem.out_channels * element : 0);
  op.prepared_bytes = prepared.bytes();
  op.saved_bytes = conv.keeps_output() ? output : 0;

  ScratchLayout scratch;
  conv.library = scratch.add(library_bytes);
  conv.output = scratch.add(conv.pools() && !conv.keeps_output() ? output : 0);
  if (request.training) {
    conv.grad_output = scratch.add(conv.undoes_epilogue() ? output : 0);
    conv.grad_weights = scratch.add(padded_weights(conv.problem) * element);
    conv.sums = scratch.add(conv.bias ? scratch_bytes(conv.bias_sum) : 0);
  }
  op.scratch_bytes = scratch.bytes();
}

}  // namespace

Op plan_convolution(const OpRequest& request, const ConvolutionOptions& options) {
  const auto conv = std::make_shared<Convolution>(describe(request, options));
  Op op;
  lay_out(request, compile(request, *conv), *conv, op);
  op.backward_reads_inputs = true;
  op.backward_reads_output = conv->relu && !conv->pools();
  op.prepare = [conv](const OpMemory& memory) { prepare(*conv, memory); };
  op.forward = [conv](const OpMemory& memory) { forward(*conv, memory); };
  op.backward = [conv](const OpMemory& memory) { backward(*conv, memory); };
  return op;
}

}  // namespace lockstep::cuda
