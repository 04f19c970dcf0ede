#include "ops/cuda/kernels/element_wise.h"
#include "ops/cuda/op.h"

namespace lockstep::cuda {

Op plan(const Add& /*options*/, const OpRequest& request) {
  const Shape& shape = request.node.shape;
  const Type type = request.type;
  const std::size_t packs = static_cast<std::size_t>(request.samples) * shape.height * shape.width *
                            (padded_channels(shape.channels) / channel_unit);
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
