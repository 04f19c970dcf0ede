#include <cstring>

#include "ops/cpu/kernels/elementwise.h"
#include "ops/cpu/op.h"

namespace lockstep::cpu {

Op plan(const Add& /*options*/, const OpRequest& request) {
  const ElementwiseKernels& kernels = elementwise_kernels(request.level);
  const std::size_t pixels = request.node.shape.size();
  Op op;
  op.forward = [&kernels, pixels](const OpMemory& memory) {
    kernels.add(pixels * groups_of(memory.samples), memory.inputs[0], memory.inputs[1], memory.output);
  };
  op.backward = [pixels](const OpMemory& memory) {
    const std::size_t bytes = pixels * groups_of(memory.samples) * lanes * sizeof(float);
    for (float* grad : memory.grad_inputs) {
      if (grad != nullptr) {
        std::memcpy(grad, memory.grad_output, bytes);
      }
    }
  };
  return op;
}

}  // namespace lockstep::cpu
