#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/host_device.h"
#include "lockstep/optimizer.h"

/// A rule is an optimizer's arithmetic on one element, for the CPU's loops and the GPU's threads, with the
/// same bits: IEEE additions, multiplications, divisions and square roots, none of them fused. It is a value
/// that holds the options of a run, and has
///   name, state_names()                what Optimizer says
///   Coefficients, coefficients(step)   what the elements of a step have in common
///   cheap_coefficients                 whether each thread of a GPU may compute them anew
///   update_states                      how many of the states `update` is given: the first ones
///   update(coefficients, parameter, gradient, states)
/// A layer-wise rule (`layerwise`) also has prepare_states, prepare(coefficients, parameter, gradient,
/// states) and trust_ratio(parameter_norm, gradient_norm, weight_decay), as Optimizer describes them.
namespace lockstep {

/// How the gradients of earlier steps take part: not at all, without a state; as the velocity; or one step
/// ahead of it.
enum class Momentum { none, classic, nesterov };

/// `code` for the kind that the options ask for.
template <class Code>
auto with_momentum(const OptimizerOptions& options, const Code& code) {
  if (options.momentum == 0.0) return code.template operator()<Momentum::none>();
  return options.nesterov ? code.template operator()<Momentum::nesterov>()
                          : code.template operator()<Momentum::classic>();
}

inline std::vector<std::string> momentum_states(Momentum momentum) {
  return momentum == Momentum::none ? std::vector<std::string>{} : std::vector<std::string>{"momentum"};
}

/// What a parameter moves along, given its gradient and the share of its velocity that it keeps.
template <Momentum momentum>
LOCKSTEP_HD inline float direction(float keep, float gradient, float* state) {
  if constexpr (momentum == Momentum::none) {
    return gradient;
  } else {
    state[0] = keep * state[0] + gradient;
    return momentum == Momentum::nesterov ? gradient + keep * state[0] : state[0];
  }
}

}  // namespace lockstep
