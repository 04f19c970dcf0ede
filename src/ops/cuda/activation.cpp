#include "ops/cuda/kernels/element_wise.h"
#include "ops/cuda/kernels/pack.h"
#include "ops/cuda/op.h"

namespace lockstep::cuda {

Op plan(const Activation& activation, const OpRequest& request) {
  const Activation::Kind kind = activation.kind;
  const Type type = request.type;
  const std::size_t packs = packs_of(pixels_of(request), request.node.shape.channels);
  Op op;
  op.backward_reads_output = backward_reads_value(kind);
  op.backward_reads_inputs = op.backward_reads_output ? 0 : 1;
  op.forward = [=](const OpMemory& memory) {
    activate(memory.stream, type, kind, packs, memory.inputs[0], memory.output);
  };
  op.backward = [=](const OpMemory& memory) {
    if (memory.grad_inputs[0] == nullptr) return;
    const void* read = backward_reads_value(kind) ? memory.output : memory.inputs[0];
    activate_backward(memory.stream, type, kind, packs, read, memory.grad_output, memory.grad_inputs[0]);
  };
  return op;
}

}  // namespace lockstep::cuda
