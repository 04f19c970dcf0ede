#include <cstring>

#include "ops/cpu/op.h"

namespace lockstep::cpu {
namespace {

/// Copies each input as one contiguous block per group, since channels are the outermost dimension of a
/// group.
template <class Element>
Op plan_concat(const OpRequest& request) {
  const std::size_t count = request.node.inputs.size();
  std::array<std::size_t, max_inputs> sizes{};  // of a group, in elements
  for (std::size_t k = 0; k < count; ++k) {
    sizes[k] = request.inputs[k].size() * lanes;
  }
  Op op;
  op.forward = [=](const NodeMemory<Element>& memory) {
    Element* to = memory.output;
    for (int group = 0; group < groups_of(memory.samples); ++group) {
      for (std::size_t k = 0; k < count; to += sizes[k], ++k) {
        std::memcpy(to, memory.inputs[k] + sizes[k] * static_cast<std::size_t>(group),
                    sizes[k] * sizeof(Element));
      }
    }
  };
  op.recompute = op.forward;
  op.backward = [=](const NodeMemory<Element>& memory) {
    const Element* from = memory.grad_output;
    for (int group = 0; group < groups_of(memory.samples); ++group) {
      for (std::size_t k = 0; k < count; from += sizes[k], ++k) {
        if (memory.grad_inputs[k] != nullptr) {
          std::memcpy(memory.grad_inputs[k] + sizes[k] * static_cast<std::size_t>(group), from,
                      sizes[k] * sizeof(Element));
        }
      }
    }
  };
  return op;
}

}  // namespace

Op plan(const Concat& /*options*/, const OpRequest& request) {
  return plan_as_stored(request, [&]<class Element>(Element) { return plan_concat<Element>(request); });
}

}  // namespace lockstep::cpu
