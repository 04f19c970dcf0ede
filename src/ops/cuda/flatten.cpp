#include "ops/cuda/kernels/rearrange.h"
#include "ops/cuda/op.h"

namespace lockstep::cuda {

Op plan(const Flatten& /*options*/, const OpRequest& request) {
  const Shape image = request.inputs[0];
  const Type type = request.type;
  const int samples = request.samples;
  Op op;
  op.forward = [=](const OpMemory& memory) {
    flatten(memory.stream, type, samples, image, memory.inputs[0], memory.output);
  };
  op.backward = [=](const OpMemory& memory) {
    if (memory.grad_inputs[0] == nullptr) return;
    undo_flatten(memory.stream, type, samples, image, memory.grad_output, memory.grad_inputs[0]);
  };
  return op;
}

}  // namespace lockstep::cuda
