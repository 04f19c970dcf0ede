#include "ops/cpu/kernels/elementwise.h"
#include "ops/cpu/op.h"

namespace lockstep::cpu {
namespace {

/// Saves a bit per value, so that the memory of the input is free after forward.
Op plan_relu(const OpRequest& request) {
  const ElementwiseKernels& kernels = elementwise_kernels(request.level);
  const std::size_t pixels = request.node.shape.size();
  Op op;
  op.saved_bytes = pixels * static_cast<std::size_t>(groups_of(request.samples)) * sizeof(std::uint16_t);
  op.forward = [&kernels, pixels](const OpMemory& memory) {
    kernels.relu(pixels * static_cast<std::size_t>(groups_of(memory.samples)), memory.inputs[0],
                 memory.output, reinterpret_cast<std::uint16_t*>(memory.saved));
  };
  op.backward = [&kernels, pixels](const OpMemory& memory) {
    if (memory.grad_inputs[0] != nullptr) {
      kernels.select(pixels * static_cast<std::size_t>(groups_of(memory.samples)), 1.0F,
                     reinterpret_cast<const std::uint16_t*>(memory.saved), memory.grad_output,
                     memory.grad_inputs[0]);
    }
  };
  return op;
}

ActivationKind kind_of(Activation::Kind kind) {
  switch (kind) {
    case Activation::Kind::relu6:
      return ActivationKind::relu6;
    case Activation::Kind::silu:
      return ActivationKind::silu;
    default:
      return ActivationKind::gelu;
  }
}

}  // namespace

Op plan(const Activation& activation, const OpRequest& request) {
  const auto kind = activation.kind;
  if (kind == Activation::Kind::relu) {
    return plan_relu(request);
  }
  const ElementwiseKernels& kernels = elementwise_kernels(request.level);
  const std::size_t pixels = request.node.shape.size();
  Op op;
  op.backward_reads_inputs = true;
  op.forward = [=, &kernels](const OpMemory& memory) {
    kernels.activate(kind_of(kind), pixels * static_cast<std::size_t>(groups_of(memory.samples)),
                     memory.inputs[0], memory.output);
  };
  op.backward = [=, &kernels](const OpMemory& memory) {
    if (memory.grad_inputs[0] != nullptr) {
      kernels.activate_backward(kind_of(kind), pixels * static_cast<std::size_t>(groups_of(memory.samples)),
                                memory.inputs[0], memory.grad_output, memory.grad_inputs[0]);
    }
  };
  return op;
}

}  // namespace lockstep::cpu
