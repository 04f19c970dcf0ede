#include <cstring>

#include "ops/cpu/op.h"

namespace lockstep::cpu {

/// Copies each input as one contiguous block per group, since channels are the outermost dimension of a
/// group.
Op plan(const Concat& /*options*/, const OpRequest& request) {
  const std::size_t count = request.node.inputs.size();
  std::array<std::size_t, max_inputs> floats{};
  for (std::size_t k = 0; k < count; ++k) {
    floats[k] = request.inputs[k].size() * lanes;
  }
  Op op;
  op.forward = [=](const OpMemory& memory) {
    float* to = memory.output;
    for (int group = 0; group < groups_of(memory.samples); ++group) {
      for (std::size_t k = 0; k < count; to += floats[k], ++k) {
        std::memcpy(to, memory.inputs[k] + floats[k] * static_cast<std::size_t>(group),
                    floats[k] * sizeof(float));
      }
    }
  };
  op.recompute = op.forward;
  op.backward = [=](const OpMemory& memory) {
    const float* from = memory.grad_output;
    for (int group = 0; group < groups_of(memory.samples); ++group) {
      for (std::size_t k = 0; k < count; from += floats[k], ++k) {
        if (memory.grad_inputs[k] != nullptr) {
          std::memcpy(memory.grad_inputs[k] + floats[k] * static_cast<std::size_t>(group), from,
                      floats[k] * sizeof(float));
        }
      }
    }
  };
  return op;
}

}  // namespace lockstep::cpu
