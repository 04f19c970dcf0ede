#include "optim/sgd.h"

#include "optim/checks.h"

namespace lockstep {

Sgd::Sgd(const OptimizerOptions& options)
    : weight_decay_(static_cast<float>(options.weight_decay)),
      momentum_(static_cast<float>(options.momentum)),
      nesterov_(options.nesterov) {
  check_used(options, {"--momentum", "--nesterov"});
  check_momentum(options);
}

std::vector<std::string> Sgd::states() const {
  return momentum_ != 0.0F ? std::vector<std::string>{"momentum"} : std::vector<std::string>{};
}

// Separate multiplications and additions (no fused ones): each is exact to IEEE on every machine, and the
// compiler may use vectors of any width.
void Sgd::update(std::span<float> parameters, std::span<const float> gradients,
                 std::span<const std::span<float>> states, const Step& step) const {
  const float scale = step.gradient_scale;
  const float decay = step.weight_decay ? weight_decay_ : 0.0F;
  const float rate = step.learning_rate;
  float* p = parameters.data();
  const float* g = gradients.data();
  if (states.empty()) {
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      p[i] -= rate * (g[i] * scale + decay * p[i]);
    }
    return;
  }
  float* v = states[0].data();
  const float momentum = momentum_;
  if (nesterov_) {
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const float gradient = g[i] * scale + decay * p[i];
      v[i] = momentum * v[i] + gradient;
      p[i] -= rate * (gradient + momentum * v[i]);
    }
    return;
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    v[i] = momentum * v[i] + (g[i] * scale + decay * p[i]);
    p[i] -= rate * v[i];
  }
}

}  // namespace lockstep
