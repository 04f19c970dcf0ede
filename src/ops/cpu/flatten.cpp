#include <cstring>

#include "ops/cpu/op.h"

namespace lockstep::cpu {
namespace {

/// Copies values unchanged: [C][H][W][16] and [C * H * W][16] are the same bytes.
void copy(const float* from, float* to, std::size_t floats) {
  if (to != nullptr) {
    std::memcpy(to, from, floats * sizeof(float));
  }
}

}  // namespace

Op plan(const Flatten& /*options*/, const OpRequest& request) {
  const std::size_t group_floats = request.node.shape.size() * lanes;
  Op op;
  op.forward = [group_floats](const OpMemory& memory) {
    copy(memory.inputs[0], memory.output, group_floats * groups_of(memory.samples));
  };
  op.backward = [group_floats](const OpMemory& memory) {
    copy(memory.grad_output, memory.grad_inputs[0], group_floats * groups_of(memory.samples));
  };
  return op;
}

}  // namespace lockstep::cpu
