#pragma once

#include <cmath>

#include "core/elementary.h"
#include "optim/rules/rule.h"

namespace lockstep {

/// Layer-wise adaptive moments (You et al., 2020) as in timm's `lamb`: Adam's step with corrected bias,
/// u = m / (1 - beta1^t) / (sqrt(v) / sqrt(1 - beta2^t) + eps) + weight_decay * p, then
/// p -= learning_rate * |p| / |u| * u with norms of the whole parameter; the ratio is 1 if either norm is 0.
/// OptimizerOptions::clip_grad is the paper's limit of the gradient's norm, which timm sets to 1.
struct Lamb {
  static constexpr bool cheap_coefficients = false;
  static constexpr bool layerwise = true;
  static constexpr std::size_t update_states = 0;
  static constexpr std::size_t prepare_states = 2;
  static constexpr std::array states = {"exp_avg", "exp_avg_sq"};

  double beta1 = 0.0, beta2 = 0.0;
  float eps = 0.0F;
  float weight_decay = 0.0F;

  struct Coefficients {
    float scale, decay, rate, correction1, root;
    float beta1, beta2, new1, new2, eps;
  };
  LOCKSTEP_HD Coefficients coefficients(const Optimizer::Step& step) const {
    Coefficients c{};
    c.scale = step.gradient_scale;
    c.decay = step.weight_decay ? weight_decay : 0.0F;
    c.rate = step.learning_rate * step.trust_ratio;
    c.correction1 = static_cast<float>(1.0 - integer_power(beta1, step.number));
    c.root = static_cast<float>(sqrt(1.0 - integer_power(beta2, step.number)));
    c.beta1 = static_cast<float>(beta1);
    c.beta2 = static_cast<float>(beta2);
    c.new1 = static_cast<float>(1.0 - beta1);
    c.new2 = static_cast<float>(1.0 - beta2);
    c.eps = eps;
    return c;
  }

  LOCKSTEP_HD static void prepare(const Coefficients& c, float p, float& gradient, float* state) {
    const float g = gradient * c.scale;
    state[0] = c.beta1 * state[0] + c.new1 * g;
    state[1] = c.beta2 * state[1] + c.new2 * (g * g);
    gradient = (state[0] / c.correction1) / (sqrtf(state[1]) / c.root + c.eps) + c.decay * p;
  }

  LOCKSTEP_HD float trust_ratio(double parameter_norm, double gradient_norm, bool /*decays*/) const {
    return parameter_norm > 0.0 && gradient_norm > 0.0 ? static_cast<float>(parameter_norm / gradient_norm)
                                                       : 1.0F;
  }

  LOCKSTEP_HD static void update(const Coefficients& c, float& p, float prepared, float* /*state*/) {
    p -= c.rate * prepared;
  }
};

}  // namespace lockstep
