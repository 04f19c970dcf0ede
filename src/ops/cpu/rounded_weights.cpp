#include "ops/cpu/rounded_weights.h"

#include <variant>

namespace lockstep::cpu {
namespace {

std::size_t weights_of(const OpRequest& request) {
  if (const auto* conv = std::get_if<Conv2d>(&request.node.operation)) {
    return static_cast<std::size_t>(request.node.shape.channels) * request.inputs[0].channels / conv->groups *
           conv->kernel * conv->kernel;
  }
  if (std::holds_alternative<Linear>(request.node.operation)) {
    return request.node.shape.size() * request.inputs[0].size();
  }
  return 0;
}

}  // namespace

RoundedWeights place_rounded_weights(const OpRequest& request, ScratchLayout& layout) {
  const std::size_t count = request.dtype == DataType::bf16 ? weights_of(request) : 0;
  return {.kernels = &conversion_kernels(request.level), .count = count, .offset = layout.add(count)};
}

}  // namespace lockstep::cpu
