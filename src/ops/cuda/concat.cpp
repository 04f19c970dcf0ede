#include "ops/cuda/kernels/rearrange.h"
#include "ops/cuda/op.h"

namespace lockstep::cuda {

Op plan(const Concat& /*options*/, const OpRequest& request) {
  ConcatTask task{.type = request.type,
                  .pixels = pixels_of(request),
                  .count = static_cast<int>(request.node.inputs.size())};
  for (std::size_t k = 0; k < request.node.inputs.size(); ++k) {
    task.channels[k] = request.inputs[k].channels;
  }
  Op op;
  op.forward = [task](const OpMemory& memory) {
    concatenate(memory.stream, task, memory.inputs, memory.output);
  };
  op.backward = [task](const OpMemory& memory) {
    undo_concatenate(memory.stream, task, memory.grad_output, memory.grad_inputs);
  };
  return op;
}

}  // namespace lockstep::cuda
