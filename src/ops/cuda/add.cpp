#include "ops/cuda/kernels/element_wise.h"
#include "ops/cuda/kernels/pack.h"
#include "ops/cuda/op.h"

namespace lockstep::cuda {

Op plan(const Add& /*options*/, const OpRequest& request) {
  const Type type = request.type;
  const std::size_t packs = packs_of(pixels_of(request), request.node.shape.channels);
  Op op;
  op.forward = [=](const OpMemory& memory) {
    add(memory.stream, type, packs, memory.inputs[0], memory.inputs[1], memory.output);
  };
  op.backward = [=](const OpMemory& memory) {
    for (void* const grad : memory.grad_inputs) {
      if (grad != nullptr) copy(memory.stream, type, packs, memory.grad_output, grad);
    }
  };
  return op;
}

}  // namespace lockstep::cuda
