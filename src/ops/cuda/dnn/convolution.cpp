#include <algorithm>
#include <memory>

#include "ops/cuda/dnn/depthwise.h"
#include "ops/cuda/dnn/problems.h"
#include "ops/cuda/kernels/element_wise.h"
#include "ops/cuda/kernels/parameters/column_sum.h"
#include "ops/cuda/kernels/pool_epilogue.h"
#include "ops/cuda/op.h"

namespace lockstep::cuda {
namespace {

/// A convolution planned for a number of samples. Offsets are in bytes.
struct ConvolutionLayer {
  ConvProblem problem;
  WeightForms forms{};
  bool in_arena = false;  ///< whether the library accesses weights, bias and weight gradient in the arena
  PoolEpilogue pool;
  ColumnSum output_sum;
  bool bias = false;
  bool sums_bias = false;  ///< whether the gradient of the bias is computed; else it is zero
  bool relu = false;
  DnnOperation forward;
  DnnOperation backward_data;  ///< not compiled if the input's gradient is not needed
  DnnOperation backward_weights;

  // Offsets in prepared memory, after the weights.
  std::size_t bias_offset = 0;
  // Offsets in scratch memory.
  std::size_t library = 0;      ///< the library's workspace
  std::size_t output = 0;       ///< output before pooling, unless it is saved
  std::size_t grad_output = 0;  ///< gradient of the output before the epilogue
  // Offsets in OpMemory::left.
  std::size_t grad_weights = 0;  ///< padded gradient of the weights
  std::size_t chunks = 0;        ///< chunk sums of the bias gradient

  bool pools() const { return pool.window > 1; }
  bool keeps_output() const { return pools() && relu; }
  bool undoes_epilogue() const { return pools() || relu; }
};

std::size_t output_elements(const ConvProblem& problem) {
  return static_cast<std::size_t>(problem.samples) * problem.out_height * problem.out_width *
         problem.out_channels;
}

void prepare(const ConvolutionLayer& conv, const OpMemory& memory) {
  memory.padding->add({.forms = conv.forms,
                       .weight = memory.parameters[0],
                       .bias = conv.bias ? memory.parameters[1] : nullptr,
                       .padded = memory.prepared,
                       .padded_bias = memory.prepared + conv.bias_offset});
}

void* weights_of(const ConvolutionLayer& conv, const OpMemory& memory) {
  return conv.in_arena ? writable(memory.parameters[0]) : memory.prepared;
}
void* bias_of(const ConvolutionLayer& conv, const OpMemory& memory) {
  return conv.in_arena ? writable(memory.parameters[1]) : memory.prepared + conv.bias_offset;
}

/// Memory of the output before pooling.
std::byte* before_pooling(const ConvolutionLayer& conv, const OpMemory& memory) {
  return conv.keeps_output() ? memory.saved : memory.scratch + conv.output;
}

void forward(const ConvolutionLayer& conv, const OpMemory& memory) {
  void* const output = conv.pools() ? before_pooling(conv, memory) : memory.output;
  void* const input = writable(memory.inputs[0]);
  void* const weights = weights_of(conv, memory);
  void* const library = memory.scratch + conv.library;
  if (conv.bias) {
    conv.forward.run(memory.stream, std::array{input, weights, bias_of(conv, memory), output}, library);
  } else {
    conv.forward.run(memory.stream, std::array{input, weights, output}, library);
  }
  if (conv.pools()) average_pool(memory.stream, conv.pool, output, memory.output);
}

/// Computes the gradient of the output before the epilogue, and its chunk sums if the bias needs them.
void* undo_epilogue(const ConvolutionLayer& conv, const OpMemory& memory) {
  auto* const chunks = conv.sums_bias ? reinterpret_cast<float*>(memory.left + conv.chunks) : nullptr;
  if (!conv.undoes_epilogue()) {
    if (conv.sums_bias) sum_chunks(memory.stream, conv.output_sum, memory.grad_output, chunks);
    return writable(memory.grad_output);
  }
  void* const grad = memory.scratch + conv.grad_output;
  if (conv.pools()) {
    undo_average_pool(memory.stream, conv.pool, conv.relu ? memory.saved : nullptr, memory.grad_output, grad,
                      chunks);
  } else {
    undo_relu(memory.stream, {.tensor = conv.output_sum,
                              .output = memory.output,
                              .grad_output = memory.grad_output,
                              .more_grad_output = memory.more_grad_output,
                              .grad_input = grad,
                              .chunks = chunks});
  }
  return grad;
}

void backward(const ConvolutionLayer& conv, const OpMemory& memory) {
  void* const grad = undo_epilogue(conv, memory);
  void* const library = memory.scratch + conv.library;
  if (memory.grad_inputs[0] != nullptr) {
    conv.backward_data.run(memory.stream, std::array{grad, weights_of(conv, memory), memory.grad_inputs[0]},
                           library);
  }
  void* const grad_weights =
      conv.in_arena ? static_cast<void*>(memory.grad_parameters[0]) : memory.left + conv.grad_weights;
  conv.backward_weights.run(memory.stream, std::array{writable(memory.inputs[0]), grad, grad_weights},
                            library);
  if (!conv.in_arena) {
    memory.finish->add(Unpadding{conv.forms, grad_weights, memory.grad_parameters[0]});
  }
  if (conv.bias) {
    ColumnSum sum = conv.output_sum;
    if (!conv.sums_bias) sum.pixels = 0;
    memory.finish->add(ChunkAddition{sum, static_cast<int>(conv.forms.out_channels),
                                     reinterpret_cast<const float*>(memory.left + conv.chunks),
                                     memory.grad_parameters[1]});
  }
}

ConvolutionLayer layer_of(const OpRequest& request, int groups, bool bias) {
  const GraphNode& node = request.node;
  ConvolutionLayer conv;
  conv.problem = conv_problem(node, request.inputs[0], request.samples, request.type);
  const Shape& input = request.inputs[0];
  const bool linear = std::holds_alternative<Linear>(node.operation);
  conv.forms = weight_forms(conv.problem, {.out_channels = node.shape.channels,
                                           .in_channels = input.channels,
                                           .groups = groups,
                                           .pixels = linear ? input.height * input.width : 1});
  conv.in_arena = same_forms(conv.forms, request.type);
  conv.bias = bias;
  conv.sums_bias = bias && !node.zero_bias_gradient;
  conv.relu = node.epilogue.relu;
  conv.pool = {.samples = request.samples,
               .channels = conv.problem.out_channels,
               .height = node.shape.height,
               .width = node.shape.width,
               .window = std::max(node.epilogue.pool, 1),
               .type = request.type};
  conv.output_sum = {
      .pixels = output_elements(conv.problem) / static_cast<std::size_t>(conv.problem.out_channels),
      .channels = conv.problem.out_channels,
      .type = request.type};
  return conv;
}

/// Compiles the operations; returns the workspace bytes that they need.
std::size_t compile(const OpRequest& request, ConvolutionLayer& conv) {
  const auto plan = [&](const ConvTask& task) {
    return is_depthwise(task.problem) ? plan_depthwise(task) : request.dnn.plan(task);
  };
  conv.forward = plan({conv.problem, ConvDirection::forward, conv.bias, conv.relu});
  if (request.training) {
    conv.backward_weights = plan({conv.problem, ConvDirection::backward_weights});
    if (request.input_gradient) conv.backward_data = plan({conv.problem, ConvDirection::backward_data});
  }
  return std::max({conv.forward.workspace_bytes, conv.backward_weights.workspace_bytes,
                   conv.backward_data.workspace_bytes});
}

void lay_out(const OpRequest& request, std::size_t library_bytes, ConvolutionLayer& conv, Op& op) {
  const std::size_t element = bytes_of(request.type);
  const std::size_t output = output_elements(conv.problem) * element;
  const std::size_t weights = conv.in_arena ? 0 : padded_weights(conv.problem) * element;
  ScratchLayout prepared;
  prepared.add(weights);
  conv.bias_offset = prepared.add(conv.bias && !conv.in_arena ? conv.problem.out_channels * element : 0);
  op.prepared_bytes = prepared.bytes();
  op.saved_bytes = conv.keeps_output() ? output : 0;

  ScratchLayout scratch;
  conv.library = scratch.add(library_bytes);
  conv.output = scratch.add(conv.pools() && !conv.keeps_output() ? output : 0);
  if (request.training) {
    conv.grad_output = scratch.add(conv.undoes_epilogue() ? output : 0);
    ScratchLayout left;
    conv.grad_weights = left.add(weights);
    conv.chunks = left.add(conv.sums_bias ? chunk_bytes(conv.output_sum) : 0);
    op.left_bytes = left.bytes();
  }
  op.scratch_bytes = scratch.bytes();
}

/// Plans a convolution. `groups`: number of groups in the network, before padding.
Op plan_convolution(const OpRequest& request, int groups, bool bias) {
  const auto conv = std::make_shared<ConvolutionLayer>(layer_of(request, groups, bias));
  Op op;
  lay_out(request, compile(request, *conv), *conv, op);
  op.backward_reads_inputs = 1;
  op.backward_reads_output = conv->relu && !conv->pools();
  op.backward_adds = op.backward_reads_output;
  if (!conv->in_arena) op.prepare = [conv](const OpMemory& memory) { prepare(*conv, memory); };
  op.forward = [conv](const OpMemory& memory) { forward(*conv, memory); };
  op.backward = [conv](const OpMemory& memory) { backward(*conv, memory); };
  return op;
}

}  // namespace

Op plan(const Conv2d& conv, const OpRequest& request) {
  return plan_convolution(request, conv.groups, conv.bias);
}

/// Plans a linear layer as a convolution of images of one pixel.
Op plan(const Linear& linear, const OpRequest& request) { return plan_convolution(request, 1, linear.bias); }

}  // namespace lockstep::cuda
