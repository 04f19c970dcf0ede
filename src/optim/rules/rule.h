#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "core/host_device.h"
#include "lockstep/optimizer.h"

/// A rule is an optimizer's arithmetic on one element, for loops on the CPU and threads on the GPU, with the
/// same bits: IEEE additions, multiplications, divisions and square roots, none of them fused. It is a plain
/// value with the options of a run and these members:
///   states                             names, as Optimizer::states
///   Coefficients, coefficients(step)   values that all elements of a segment share in a step
///   cheap_coefficients                 whether each thread of a GPU computes the coefficients itself
///   update_states                      number of states that `update` gets, the first ones
///   update(coefficients, parameter, gradient, states)
/// `gradient` is the sum over the samples, which the rule multiplies by Optimizer::Step::gradient_scale; in
/// `update` of a layer-wise rule, it is what `prepare` wrote. States are zeros before the first step.
/// A layer-wise rule (`layerwise`) also has prepare_states, prepare(coefficients, parameter, gradient,
/// states) and trust_ratio(parameter_norm, gradient_norm, weight_decay), as Optimizer describes them.
namespace lockstep {

/// Kind of momentum; `none` has no state.
enum class Momentum { none, classic, nesterov };

/// Calls `code` with the kind of momentum in `options`.
template <class Code>
auto with_momentum(const OptimizerOptions& options, const Code& code) {
  if (options.momentum == 0.0) return code.template operator()<Momentum::none>();
  return options.nesterov ? code.template operator()<Momentum::nesterov>()
                          : code.template operator()<Momentum::classic>();
}

/// Names of the states of rules with momentum.
inline constexpr std::array momentum_states = {"momentum"};

/// Direction of a parameter's step, from its gradient, its velocity and the momentum factor `keep`.
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
