#include "ops/cuda/kernels/batch_norm.h"
#include "ops/cuda/kernels/batch_norm_training.h"
#include "ops/cuda/op.h"

namespace lockstep::cuda {
namespace {

NormClamp clamp_of(const GraphNode::Epilogue& epilogue) {
  if (epilogue.relu6) return {0.0F, 6.0F};
  return epilogue.relu ? NormClamp{.low = 0.0F} : NormClamp{};
}

/// Plans a batch norm with fixed parameters: a scale and a shift per channel, in prepared memory.
Op plan_evaluation(const BatchNorm2d& options, const OpRequest& request) {
  const GraphNode& node = request.node;
  const int channels = node.shape.channels;
  const NormTask norm{
      .pixels = pixels_of(request), .channels = padded_channels(channels), .clamp = clamp_of(node.epilogue)};
  ScratchLayout prepared;
  prepared.add(static_cast<std::size_t>(norm.channels) * sizeof(float));
  const std::size_t shift = prepared.add(static_cast<std::size_t>(norm.channels) * sizeof(float));
  Op op;
  op.prepared_bytes = prepared.bytes();
  op.prepare = [channels, eps = static_cast<float>(options.eps), shift](const OpMemory& memory) {
    const auto& parameters = memory.parameters;
    fold_norm(memory.stream, channels, eps,
              {.weight = parameters[0],
               .bias = parameters[1],
               .running_mean = parameters[2],
               .running_variance = parameters[3]},
              reinterpret_cast<float*>(memory.prepared), reinterpret_cast<float*>(memory.prepared + shift));
  };
  op.forward = [norm, shift, type = request.type, adds = node.epilogue.add](const OpMemory& memory) {
    NormTask task = norm;
    task.scale = reinterpret_cast<const float*>(memory.prepared);
    task.shift = reinterpret_cast<const float*>(memory.prepared + shift);
    task.input = memory.inputs[0];
    task.residual = adds ? memory.inputs[1] : nullptr;
    task.output = memory.output;
    normalize(memory.stream, type, task);
  };
  return op;
}

/// `norm` with the addresses that forward and backward have in common.
NormTraining in_memory(NormTraining norm, const OpMemory& memory) {
  norm.input = memory.inputs[0];
  norm.weight = memory.parameters[0];
  norm.bias = memory.parameters[1];
  norm.statistics = reinterpret_cast<float*>(memory.saved);
  norm.scratch = memory.scratch;
  return norm;
}

void forward(const NormTraining& norm, bool adds, const OpMemory& memory) {
  batch_norm_forward(memory.stream,
                     {in_memory(norm, memory), adds ? memory.inputs[1] : nullptr, memory.output});
}

void backward(const NormTraining& norm, bool adds, const OpMemory& memory) {
  batch_norm_backward(memory.stream,
                      {in_memory(norm, memory), norm.clamp.clamps() && adds ? memory.output : nullptr,
                       memory.grad_output, memory.more_grad_output, memory.grad_inputs[0],
                       adds ? memory.grad_inputs[1] : nullptr, memory.grad_parameters[0],
                       memory.grad_parameters[1], memory.grad_parameters[2], memory.grad_parameters[3]});
}

Op plan_training(const BatchNorm2d& options, const OpRequest& request) {
  const NormTraining norm{.pixels = pixels_of(request),
                          .samples = request.samples,
                          .channels = request.node.shape.channels,
                          .type = request.type,
                          .eps = static_cast<float>(options.eps),
                          .clamp = clamp_of(request.node.epilogue)};
  const bool adds = request.node.epilogue.add;
  Op op;
  op.saved_bytes = norm.statistics_bytes();
  op.scratch_bytes = norm.scratch_bytes();
  op.backward_reads_inputs = 1;
  op.backward_reads_output = adds && norm.clamp.clamps();
  op.backward_adds = true;
  op.forward = [norm, adds](const OpMemory& memory) { forward(norm, adds, memory); };
  op.backward = [norm, adds](const OpMemory& memory) { backward(norm, adds, memory); };
  return op;
}

}  // namespace

Op plan(const BatchNorm2d& options, const OpRequest& request) {
  return request.training ? plan_training(options, request) : plan_evaluation(options, request);
}

}  // namespace lockstep::cuda
