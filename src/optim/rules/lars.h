#pragma once

#include "optim/rules/rule.h"

namespace lockstep {

/// Layer-wise adaptive rate scaling (You, Gitman and Ginsburg, 2017) as in timm's `lars`:
/// g = (g + weight_decay * p) * trust_coefficient * |p| / (|g| + weight_decay * |p| + eps) with norms of the
/// whole parameter and of its gradient without decay (the ratio is 1 if either is 0); then like sgd.
template <Momentum momentum>
struct Lars {
  static constexpr bool cheap_coefficients = true;
  static constexpr bool layerwise = true;
  static constexpr std::size_t update_states = momentum == Momentum::none ? 0 : 1;
  static constexpr std::size_t prepare_states = 0;
  static constexpr auto states = std::span(momentum_states).first(update_states);

  double trust_coefficient = 0.0;
  double eps = 0.0;
  double weight_decay = 0.0;
  float keep = 0.0F;  ///< momentum factor

  struct Coefficients {
    float scale, decay, ratio, rate, keep;
  };
  LOCKSTEP_HD Coefficients coefficients(const Optimizer::Step& step) const {
    const float decay = step.weight_decay ? static_cast<float>(weight_decay) : 0.0F;
    return {step.gradient_scale, decay, step.trust_ratio, step.learning_rate, keep};
  }

  LOCKSTEP_HD static void prepare(const Coefficients& c, float /*p*/, float& gradient, float* /*state*/) {
    gradient *= c.scale;
  }

  LOCKSTEP_HD float trust_ratio(double parameter_norm, double gradient_norm, bool decays) const {
    if (!(parameter_norm > 0.0 && gradient_norm > 0.0)) return 1.0F;
    const double decay = decays ? weight_decay : 0.0;
    return static_cast<float>(trust_coefficient * parameter_norm /
                              (gradient_norm + parameter_norm * decay + eps));
  }

  LOCKSTEP_HD static void update(const Coefficients& c, float& p, float prepared, float* state) {
    p -= c.rate * direction<momentum>(c.keep, (prepared + c.decay * p) * c.ratio, state);
  }
};

}  // namespace lockstep
