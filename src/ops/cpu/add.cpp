#include <cstring>

#include "ops/cpu/kernels/elementwise.h"
#include "ops/cpu/op.h"

namespace lockstep::cpu {

namespace {

template <class Element>
Op plan_add(const OpRequest& request) {
  const auto& functions = functions_of<Element>(elementwise_kernels(request.level));
  const std::size_t pixels = request.node.shape.size();
  Op op;
  op.forward = [&functions, pixels](const NodeMemory<Element>& memory) {
    functions.add(pixels * groups_of(memory.samples), memory.inputs[0], memory.inputs[1], memory.output);
  };
  op.recompute = op.forward;
  op.backward = [pixels](const NodeMemory<Element>& memory) {
    const std::size_t bytes = pixels * groups_of(memory.samples) * lanes * sizeof(Element);
    for (Element* grad : memory.grad_inputs) {
      if (grad != nullptr) {
        std::memcpy(grad, memory.grad_output, bytes);
      }
    }
  };
  return op;
}

}  // namespace

Op plan(const Add& /*options*/, const OpRequest& request) {
  return plan_as_stored(request, [&]<class Element>(Element) { return plan_add<Element>(request); });
}

}  // namespace lockstep::cpu
