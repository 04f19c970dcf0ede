#include "ops/cuda/kernels/dropout.h"

#include "ops/cuda/kernels/element_wise.h"
#include "ops/cuda/kernels/pack.h"
#include "ops/cuda/op.h"

namespace lockstep::cuda {

Op plan(const Dropout& dropout, const OpRequest& request) {
  const Shape shape = request.node.shape;
  const DropoutTask task{.type = request.type,
                         .rule = dropout_rule(dropout.p, request.position),
                         .samples = request.samples,
                         .channels = shape.channels,
                         .pixels = shape.height * shape.width};
  Op op;
  if (!request.training) {
    const std::size_t packs = packs_of(pixels_of(request), shape.channels);
    op.forward = [type = request.type, packs](const OpMemory& memory) {
      copy(memory.stream, type, packs, memory.inputs[0], memory.output);
    };
    return op;
  }
  op.saved_bytes = dropout_mask_bytes(task);
  op.forward = [task](const OpMemory& memory) {
    dropout_forward(memory.stream, task, memory.random, memory.ids, memory.inputs[0], memory.output,
                    reinterpret_cast<std::uint8_t*>(memory.saved));
  };
  op.backward = [task](const OpMemory& memory) {
    if (memory.grad_inputs[0] == nullptr) return;
    dropout_backward(memory.stream, task, reinterpret_cast<const std::uint8_t*>(memory.saved),
                     memory.grad_output, memory.grad_inputs[0]);
  };
  return op;
}

}  // namespace lockstep::cuda
