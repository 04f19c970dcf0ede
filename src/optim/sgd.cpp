#include "optim/sgd.h"

#include <fmt/format.h>

#include "lockstep/error.h"

namespace lockstep {

Sgd::Sgd(const OptimizerOptions& options) : options_(options) {
  if (!(options.momentum >= 0.0F && options.momentum < 1.0F)) {
    throw Error(Category::usage, fmt::format("momentum must be in [0, 1), not {}", options.momentum));
  }
  if (options.nesterov && options.momentum == 0.0F) {
    throw Error(Category::usage, "Nesterov's rule needs a momentum above 0");
  }
}

std::vector<std::string> Sgd::states() const {
  return options_.momentum != 0.0F ? std::vector<std::string>{"momentum"} : std::vector<std::string>{};
}

// Separate multiplications and additions (no fused ones): each is exact to IEEE on every machine, and the
// compiler may use vectors of any width.
void Sgd::update(std::span<float> parameters, std::span<const float> gradients,
                 std::span<const std::span<float>> states, const Step& step) const {
  const float scale = step.gradient_scale;
  const float decay = options_.weight_decay;
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
  const float momentum = options_.momentum;
  if (options_.nesterov) {
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
