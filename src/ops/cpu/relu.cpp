#include "ops/cpu/level.h"
#include "ops/cpu/op.h"

namespace lockstep::cpu {

Op plan_relu(const OpRequest& request) {
  const Kernels& kernels = kernels_of(request.level);
  const std::size_t pixels = request.node.shape.size();
  Op op;
  op.saved_bytes = pixels * groups_of(request.samples) * sizeof(std::uint16_t);
  op.forward = [&kernels, pixels](const OpMemory& memory) {
    kernels.relu(pixels * groups_of(memory.samples), memory.inputs[0], memory.output,
                 reinterpret_cast<std::uint16_t*>(memory.saved));
  };
  op.backward = [&kernels, pixels](const OpMemory& memory) {
    if (memory.grad_inputs[0] == nullptr) {
      return;
    }
    kernels.expand({.epilogue = {.relu = true, .window = 1},
                    .channels = groups_of(memory.samples),
                    .rows = 1,
                    .columns = static_cast<int>(pixels),
                    .grad = memory.grad_output,
                    .grad_plane = pixels * lanes,
                    .masks = reinterpret_cast<const std::uint16_t*>(memory.saved),
                    .mask_plane = pixels,
                    .output = memory.grad_inputs[0],
                    .output_plane = pixels * lanes});
  };
  return op;
}

}  // namespace lockstep::cpu
