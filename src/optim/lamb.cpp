#include "optim/lamb.h"

#include <cmath>

#include "core/elementary.h"
#include "optim/checks.h"

namespace lockstep {

Lamb::Lamb(const OptimizerOptions& options)
    : beta1_(options.beta1),
      beta2_(options.beta2),
      eps_(static_cast<float>(eps_or(1e-6, options))),
      weight_decay_(static_cast<float>(options.weight_decay)) {
  check_used(options, {"--beta1", "--beta2", "--opt-eps", "--always-adapt"});
  check_betas(options);
}

void Lamb::prepare(std::span<const float> parameters, std::span<float> gradients,
                   std::span<const std::span<float>> states, const Step& step) const {
  const auto correction1 = static_cast<float>(1.0 - integer_power(beta1_, step.number));
  const auto root = static_cast<float>(std::sqrt(1.0 - integer_power(beta2_, step.number)));
  const auto beta1 = static_cast<float>(beta1_), beta2 = static_cast<float>(beta2_);
  const auto new1 = static_cast<float>(1.0 - beta1_), new2 = static_cast<float>(1.0 - beta2_);
  const float scale = step.gradient_scale, eps = eps_, decay = step.weight_decay ? weight_decay_ : 0.0F;
  const float* p = parameters.data();
  float* sums = gradients.data();
  float* m = states[0].data();
  float* v = states[1].data();
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const float g = sums[i] * scale;
    m[i] = beta1 * m[i] + new1 * g;
    v[i] = beta2 * v[i] + new2 * (g * g);
    sums[i] = (m[i] / correction1) / (std::sqrt(v[i]) / root + eps) + decay * p[i];
  }
}

float Lamb::trust_ratio(double parameter_norm, double gradient_norm, const Step&) const {
  return parameter_norm > 0.0 && gradient_norm > 0.0 ? static_cast<float>(parameter_norm / gradient_norm)
                                                     : 1.0F;
}

void Lamb::update(std::span<float> parameters, std::span<const float> gradients,
                  std::span<const std::span<float>>, const Step& step) const {
  const float rate = step.learning_rate * step.trust_ratio;
  float* p = parameters.data();
  const float* u = gradients.data();
  for (std::size_t i = 0; i < parameters.size(); ++i) p[i] -= rate * u[i];
}

}  // namespace lockstep
