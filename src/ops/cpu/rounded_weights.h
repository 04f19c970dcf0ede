#pragma once

#include <cstddef>

#include "ops/cpu/kernels/conversion.h"
#include "ops/cpu/op.h"

namespace lockstep::cpu {

/// Place in scratch memory of the weights of a convolution or linear layer, rounded to bf16, as floats.
struct RoundedWeights {
  const ConversionKernels* kernels = nullptr;
  std::size_t count = 0;
  std::size_t offset = 0;
};

/// Adds the place to `layout`. Empty for other operations, and for activations of floats.
RoundedWeights place_rounded_weights(const OpRequest& request, ScratchLayout& layout);

/// The same view with rounded weights, which it computes, if they have a place.
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
