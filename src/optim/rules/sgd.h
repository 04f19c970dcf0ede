#pragma once

#include "optim/rules/rule.h"

namespace lockstep {

/// Stochastic gradient descent as in torch.optim.SGD: g += weight_decay * p; v = momentum * v + g;
/// p -= learning_rate * v (dampening 0; without momentum, v = g and there is no state); with nesterov,
/// p -= learning_rate * (g + momentum * v).
template <Momentum momentum>
struct Sgd {
  static constexpr bool cheap_coefficients = true;
  static constexpr bool layerwise = false;
  static constexpr std::size_t update_states = momentum == Momentum::none ? 0 : 1;
  static constexpr auto states = std::span(momentum_states).first(update_states);

  float weight_decay = 0.0F;
  float keep = 0.0F;  ///< momentum factor

  struct Coefficients {
    float scale, decay, rate, keep;
  };
  LOCKSTEP_HD Coefficients coefficients(const Optimizer::Step& step) const {
    return {step.gradient_scale, step.weight_decay ? weight_decay : 0.0F, step.learning_rate, keep};
  }

  LOCKSTEP_HD static void update(const Coefficients& c, float& p, float sum, float* state) {
    p -= c.rate * direction<momentum>(c.keep, sum * c.scale + c.decay * p, state);
  }
};

}  // namespace lockstep
