#pragma once

#include <cstddef>

#include "ops/cpu/kernels/conversion.h"
#include "ops/cpu/op.h"

namespace lockstep::cpu {

/// Place in scratch memory for the weights of a convolution or linear layer, rounded to bf16 but stored as
/// floats.
struct RoundedWeights {
  const ConversionKernels* kernels = nullptr;
  std::size_t count = 0;
  std::size_t offset = 0;
};

/// Adds the place to `layout`. It is empty if activations are floats or the operation has no parameters. Must
/// not be used for normalizations, whose parameters are not rounded.
inline RoundedWeights place_rounded_weights(const OpRequest& request, ScratchLayout& layout) {
  RoundedWeights weights{.kernels = &conversion_kernels(request.level)};
  const std::vector<Parameter> parameters =
      parameters_of(request.node.operation, {.name = request.node.name, .inputs = request.inputs});
  if (request.dtype == DataType::bf16 && !parameters.empty()) weights.count = parameters[0].size();
  weights.offset = layout.add(weights.count);
  return weights;
}

/// Rounds the weights if they have a place, and returns the view with the rounded weights.
template <class View>
View with_rounded_weights(const RoundedWeights& weights, const View& memory) {
  View view = memory;
  if (weights.count > 0) {
    float* const rounded = floats_at(memory.scratch, weights.offset);
    weights.kernels->round_floats(weights.count, memory.parameters[0], rounded);
    view.parameters[0] = rounded;
  }
  return view;
}

}  // namespace lockstep::cpu
