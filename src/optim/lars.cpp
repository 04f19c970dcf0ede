#include "optim/lars.h"

#include "optim/checks.h"

namespace lockstep {

Lars::Lars(const OptimizerOptions& options)
    : trust_coefficient_(options.trust_coefficient),
      eps_(eps_or(1e-8, options)),
      weight_decay_(options.weight_decay),
      momentum_(static_cast<float>(options.momentum)),
      nesterov_(options.nesterov) {
  check_used(options, {"--momentum", "--nesterov", "--opt-eps", "--trust-coeff", "--always-adapt"});
  check_momentum(options);
}

std::vector<std::string> Lars::states() const {
  return momentum_ != 0.0F ? std::vector<std::string>{"momentum"} : std::vector<std::string>{};
}

void Lars::prepare(std::span<const float>, std::span<float> gradients, std::span<const std::span<float>>,
                   const Step& step) const {
  for (float& gradient : gradients) gradient *= step.gradient_scale;
}

float Lars::trust_ratio(double parameter_norm, double gradient_norm, const Step& step) const {
  if (!(parameter_norm > 0.0 && gradient_norm > 0.0)) return 1.0F;
  const double decay = step.weight_decay ? weight_decay_ : 0.0;
  return static_cast<float>(trust_coefficient_ * parameter_norm /
                            (gradient_norm + parameter_norm * decay + eps_));
}

void Lars::update(std::span<float> parameters, std::span<const float> gradients,
                  std::span<const std::span<float>> states, const Step& step) const {
  const float decay = step.weight_decay ? static_cast<float>(weight_decay_) : 0.0F;
  const float ratio = step.trust_ratio, rate = step.learning_rate, momentum = momentum_;
  float* p = parameters.data();
  const float* g = gradients.data();
  if (states.empty()) {
    for (std::size_t i = 0; i < parameters.size(); ++i) p[i] -= rate * ((g[i] + decay * p[i]) * ratio);
    return;
  }
  float* v = states[0].data();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const float gradient = (g[i] + decay * p[i]) * ratio;
    v[i] = momentum * v[i] + gradient;
    p[i] -= rate * (nesterov_ ? gradient + momentum * v[i] : v[i]);
  }
}

}  // namespace lockstep
