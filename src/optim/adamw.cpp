#include "optim/adamw.h"

#include <cmath>

#include "core/elementary.h"
#include "optim/checks.h"

namespace lockstep {

AdamW::AdamW(const OptimizerOptions& options)
    : beta1_(options.beta1),
      beta2_(options.beta2),
      eps_(static_cast<float>(eps_or(1e-8, options))),
      weight_decay_(static_cast<float>(options.weight_decay)) {
  check_used(options, {"--beta1", "--beta2", "--opt-eps"});
  check_betas(options);
}

// As in sgd.cpp: every operation is one that IEEE 754 defines to the last bit, the square root included.
void AdamW::update(std::span<float> parameters, std::span<const float> gradients,
                   std::span<const std::span<float>> states, const Step& step) const {
  const double correction1 = 1.0 - integer_power(beta1_, step.number);
  const double correction2 = 1.0 - integer_power(beta2_, step.number);
  const float scale = step.gradient_scale;
  const float keep = 1.0F - step.learning_rate * (step.weight_decay ? weight_decay_ : 0.0F);
  const auto rate = static_cast<float>(step.learning_rate / correction1);
  const auto root = static_cast<float>(std::sqrt(correction2));
  const auto beta1 = static_cast<float>(beta1_), beta2 = static_cast<float>(beta2_);
  const auto new1 = static_cast<float>(1.0 - beta1_), new2 = static_cast<float>(1.0 - beta2_);
  const float eps = eps_;
  float* p = parameters.data();
  const float* sums = gradients.data();
  float* m = states[0].data();
  float* v = states[1].data();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const float g = sums[i] * scale;
    m[i] = beta1 * m[i] + new1 * g;
    v[i] = beta2 * v[i] + new2 * (g * g);
    p[i] = keep * p[i] - rate * (m[i] / (std::sqrt(v[i]) / root + eps));
  }
}

}  // namespace lockstep
