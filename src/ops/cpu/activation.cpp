#include "ops/cpu/kernels/elementwise.h"
#include "ops/cpu/op.h"

namespace lockstep::cpu {
namespace {

/// Saves a bit per value instead of the input, so that the input's memory is free after forward.
template <class Element>
Op plan_relu(const OpRequest& request) {
  const auto& functions = functions_of<Element>(elementwise_kernels(request.level));
  const std::size_t pixels = request.node.shape.size();
  Op op;
  op.saved_bytes = mask_bytes(pixels, request.samples);
  op.forward = [&functions, pixels](const NodeMemory<Element>& memory) {
    functions.relu(pixels * groups_of(memory.samples), memory.inputs[0], memory.output,
                   reinterpret_cast<std::uint16_t*>(memory.saved));
  };
  op.recompute = op.forward;
  op.backward = [&functions, pixels](const NodeMemory<Element>& memory) {
    if (memory.grad_inputs[0] != nullptr) {
      functions.select(pixels * groups_of(memory.samples), 1.0F,
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
    case Activation::Kind::gelu:
      return ActivationKind::gelu;
    case Activation::Kind::relu:
      break;
  }
  return ActivationKind::relu;
}

template <class Element>
Op plan_other(ActivationKind kind, const OpRequest& request) {
  const auto& functions = functions_of<Element>(elementwise_kernels(request.level));
  const std::size_t pixels = request.node.shape.size();
  Op op;
  op.backward_reads_inputs = 1;
  op.forward = [=, &functions](const NodeMemory<Element>& memory) {
    functions.activate(kind, pixels * groups_of(memory.samples), memory.inputs[0], memory.output);
  };
  op.recompute = op.forward;
  op.backward = [=, &functions](const NodeMemory<Element>& memory) {
    if (memory.grad_inputs[0] != nullptr) {
      functions.activate_backward(kind, pixels * groups_of(memory.samples), memory.inputs[0],
                                  memory.grad_output, memory.grad_inputs[0]);
    }
  };
  return op;
}

}  // namespace

Op plan(const Activation& activation, const OpRequest& request) {
  return plan_as_stored(request, [&]<class Element>(Element) {
    return activation.kind == Activation::Kind::relu ? plan_relu<Element>(request)
                                                     : plan_other<Element>(kind_of(activation.kind), request);
  });
}

}  // namespace lockstep::cpu
