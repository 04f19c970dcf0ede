#include <algorithm>
#include <limits>
#include <memory>

#include "ops/cuda/dnn/problems.h"
#include "ops/cuda/kernels/batch_norm.h"
#include "ops/cuda/kernels/element_wise.h"
#include "ops/cuda/op.h"

namespace lockstep::cuda {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

/// A batch norm planned for a number of samples. The library uses learned parameters and their gradients in
/// the arena: zeros follow them up to a multiple of 16 elements, and the library writes zeros for padded
/// channels.
struct BatchNormLayer {
  BatchNormProblem problem;
  int channels = 0;  ///< channels of the network, without padding
  double eps = 0.0;
  GraphNode::Epilogue epilogue;
  std::unique_ptr<DnnOperation> forward;   ///< in training only
  std::unique_ptr<DnnOperation> backward;  ///< in training only
  std::size_t second = 0;                  ///< offset of the second array in prepared memory
  // Offsets in scratch memory.
  std::size_t library = 0;   ///< of the library's workspace
  std::size_t grad = 0;      ///< before the activation
  std::size_t unwanted = 0;  ///< of the input's gradient if it is not needed: the library writes it anyway

  bool activates() const { return epilogue.relu || epilogue.relu6; }
  float limit() const { return epilogue.relu6 ? 6.0F : infinity; }
  std::size_t pixels() const {
    return static_cast<std::size_t>(problem.samples) * problem.height * problem.width;
  }
  std::size_t packs() const { return pixels() * static_cast<std::size_t>(problem.channels / channel_unit); }
};

// Arrays in prepared memory with one float per padded channel.
float* first_of(std::byte* memory) { return reinterpret_cast<float*>(memory); }
float* second_of(const BatchNormLayer& norm, std::byte* memory) { return first_of(memory + norm.second); }

void prepare_evaluation(const BatchNormLayer& norm, const OpMemory& memory) {
  const auto& [weight, bias, mean, variance] = memory.parameters;
  fold_norm(memory.stream, norm.channels, static_cast<float>(norm.eps),
            {.weight = weight, .bias = bias, .running_mean = mean, .running_variance = variance},
            first_of(memory.prepared), second_of(norm, memory.prepared));
}

void evaluate(const BatchNormLayer& norm, const OpMemory& memory) {
  normalize(memory.stream, norm.problem.type,
            {.pixels = norm.pixels(),
             .channels = norm.problem.channels,
             .low = norm.activates() ? 0.0F : -infinity,
             .limit = norm.limit(),
             .scale = first_of(memory.prepared),
             .shift = second_of(norm, memory.prepared),
             .input = memory.inputs[0],
             .residual = norm.epilogue.add ? memory.inputs[1] : nullptr,
             .output = memory.output});
}

void forward(const BatchNormLayer& norm, const OpMemory& memory) {
  void* const input = writable(memory.inputs[0]);
  void* const weight = writable(memory.parameters[0]);
  void* const bias = writable(memory.parameters[1]);
  void* const mean = first_of(memory.prepared);
  void* const inverse = second_of(norm, memory.prepared);
  void* const library = memory.scratch + norm.library;
  if (norm.epilogue.add) {
    void* const residual = writable(memory.inputs[1]);
    norm.forward->run(memory.stream, std::array{input, residual, weight, bias, memory.output, mean, inverse},
                      library);
  } else {
    norm.forward->run(memory.stream, std::array{input, weight, bias, memory.output, mean, inverse}, library);
  }
  if (norm.epilogue.relu6) {
    clamp(memory.stream, norm.problem.type, norm.packs(), norm.limit(), memory.output, memory.output);
  }
}

/// Computes the gradient before the activation, which is also the residual's gradient.
void* undo_activation(const BatchNormLayer& norm, const OpMemory& memory) {
  void* const residual = norm.epilogue.add ? memory.grad_inputs[1] : nullptr;
  if (norm.activates()) {
    void* const grad = residual != nullptr ? residual : memory.scratch + norm.grad;
    undo_clamp(memory.stream, {.tensor = {norm.pixels(), norm.problem.channels, norm.problem.type},
                               .limit = norm.limit(),
                               .output = memory.output,
                               .grad_output = memory.grad_output,
                               .more_grad_output = memory.more_grad_output,
                               .grad_input = grad});
    return grad;
  }
  if (residual != nullptr) {
    copy(memory.stream, norm.problem.type, norm.packs(), memory.grad_output, residual);
  }
  return writable(memory.grad_output);
}

void backward(const BatchNormLayer& norm, const OpMemory& memory) {
  float* const mean = first_of(memory.prepared);
  float* const inverse = second_of(norm, memory.prepared);
  void* const grad = undo_activation(norm, memory);
  void* const unwanted = memory.scratch + norm.unwanted;
  norm.backward->run(
      memory.stream,
      std::array<void*, 8>{writable(memory.inputs[0]), grad, writable(memory.parameters[0]), mean, inverse,
                           memory.grad_inputs[0] != nullptr ? memory.grad_inputs[0] : unwanted,
                           memory.grad_parameters[0], memory.grad_parameters[1]},
      memory.scratch + norm.library);
  memory.finish->add(NormObservation{.channels = norm.channels,
                                     .samples = norm.problem.samples,
                                     .values = norm.pixels(),
                                     .eps = norm.eps,
                                     .mean = mean,
                                     .inverse_deviation = inverse,
                                     .grad_mean = memory.grad_parameters[2],
                                     .grad_variance = memory.grad_parameters[3]});
}

BatchNormLayer layer_of(const OpRequest& request) {
  BatchNormLayer norm;
  norm.problem = batch_norm_problem(request.node, request.samples, request.type);
  norm.channels = request.node.shape.channels;
  norm.eps = std::get<BatchNorm2d>(request.node.operation).eps;
  norm.epilogue = request.node.epilogue;
  return norm;
}

/// Lays out the two arrays in prepared memory; returns their bytes.
std::size_t lay_out_pair(BatchNormLayer& norm) {
  ScratchLayout layout;
  const std::size_t bytes = norm.problem.channels * sizeof(float);
  layout.add(bytes);
  norm.second = layout.add(bytes);
  return layout.bytes();
}

Op plan_evaluation(const OpRequest& request) {
  const auto norm = std::make_shared<BatchNormLayer>(layer_of(request));
  Op op;
  op.prepared_bytes = lay_out_pair(*norm);
  op.prepare = [norm](const OpMemory& memory) { prepare_evaluation(*norm, memory); };
  op.forward = [norm](const OpMemory& memory) { evaluate(*norm, memory); };
  return op;
}

Op plan_training(const OpRequest& request) {
  const auto norm = std::make_shared<BatchNormLayer>(layer_of(request));
  norm->forward = request.dnn.batch_norm_forward(norm->problem, norm->eps);
  norm->backward = request.dnn.batch_norm_backward(norm->problem);
  const std::size_t activation = norm->packs() * channel_unit * bytes_of(request.type);
  ScratchLayout scratch;
  norm->library = scratch.add(std::max(norm->forward->workspace_bytes(), norm->backward->workspace_bytes()));
  norm->grad =
      scratch.add(norm->activates() || norm->epilogue.add || !request.input_gradient ? activation : 0);
  // If the residual's gradient receives the gradient before the activation, the memory at norm->grad is free.
  const bool both = norm->activates() && !request.input_gradient;
  norm->unwanted = both ? scratch.add(activation) : norm->grad;
  Op op;
  op.prepared_bytes = lay_out_pair(*norm);  // statistics of the batch, which `finish` reads
  op.scratch_bytes = scratch.bytes();
  op.backward_reads_inputs = true;
  op.backward_reads_output = op.backward_adds = norm->activates();
  op.forward = [norm](const OpMemory& memory) { forward(*norm, memory); };
  op.backward = [norm](const OpMemory& memory) { backward(*norm, memory); };
  return op;
}

}  // namespace

Op plan(const BatchNorm2d& /*options*/, const OpRequest& request) {
  return request.training ? plan_training(request) : plan_evaluation(request);
}

}  // namespace lockstep::cuda
