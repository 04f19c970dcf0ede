#pragma once

#include <cmath>

#include "core/elementary.h"
#include "optim/rules/rule.h"

namespace lockstep {

/// Adam with decoupled weight decay as in torch.optim.AdamW (Loshchilov and Hutter, 2019):
/// p -= learning_rate * weight_decay * p; m = beta1 * m + (1 - beta1) * g; v = beta2 * v + (1 - beta2) * g^2;
/// p -= learning_rate / (1 - beta1^t) * m / (sqrt(v) / sqrt(1 - beta2^t) + eps).
struct AdamW {
  static constexpr bool cheap_coefficients = false;
  static constexpr bool layerwise = false;
  static constexpr std::size_t update_states = 2;
  static constexpr std::array states = {"exp_avg", "exp_avg_sq"};

  double beta1 = 0.0, beta2 = 0.0;
  float eps = 0.0F;
  float weight_decay = 0.0F;

  struct Coefficients {
    float scale, keep, rate, root;
    float beta1, beta2, new1, new2, eps;
  };
  LOCKSTEP_HD Coefficients coefficients(const Optimizer::Step& step) const {
    const double correction1 = 1.0 - integer_power(beta1, step.number);
    const double correction2 = 1.0 - integer_power(beta2, step.number);
    Coefficients c{};
    c.scale = step.gradient_scale;
    c.keep = 1.0F - step.learning_rate * (step.weight_decay ? weight_decay : 0.0F);
    c.rate = static_cast<float>(step.learning_rate / correction1);
    c.root = static_cast<float>(sqrt(correction2));
    c.beta1 = static_cast<float>(beta1);
    c.beta2 = static_cast<float>(beta2);
    c.new1 = static_cast<float>(1.0 - beta1);
    c.new2 = static_cast<float>(1.0 - beta2);
    c.eps = eps;
    return c;
  }

  LOCKSTEP_HD static void update(const Coefficients& c, float& p, float sum, float* state) {
    const float g = sum * c.scale;
    state[0] = c.beta1 * state[0] + c.new1 * g;
    state[1] = c.beta2 * state[1] + c.new2 * (g * g);
    p = c.keep * p - c.rate * (state[0] / (sqrtf(state[1]) / c.root + c.eps));
  }
};

}  // namespace lockstep
