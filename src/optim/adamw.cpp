#include "optim/adamw.h"

#include <fmt/format.h>

#include <cmath>

#include "lockstep/error.h"
#include "optim/exact_math.h"

namespace lockstep {

AdamW::AdamW(const OptimizerOptions& options) : options_(options) {
  const auto refuse = [](const std::string& message) { throw Error(Category::usage, message); };
  for (const double beta : {options.beta1, options.beta2}) {
    if (!(beta >= 0.0 && beta < 1.0)) refuse(fmt::format("adamw's betas must be in [0, 1), not {}", beta));
  }
  if (!(options.eps > 0.0)) refuse(fmt::format("adamw's eps must be above 0, not {}", options.eps));
  if (options.momentum != 0.0F || options.nesterov) refuse("adamw has betas instead of a momentum");
}

// As in sgd.cpp: every operation is one that IEEE 754 defines to the last bit, the square root included.
void AdamW::update(std::span<float> parameters, std::span<const float> gradients,
                   std::span<const std::span<float>> states, const Step& step) const {
  const double correction1 = 1.0 - integer_power(options_.beta1, step.number);
  const double correction2 = 1.0 - integer_power(options_.beta2, step.number);
  const float scale = step.gradient_scale;
  const float keep = 1.0F - step.learning_rate * options_.weight_decay;
  const auto rate = static_cast<float>(step.learning_rate / correction1);
  const auto root = static_cast<float>(std::sqrt(correction2));
  const auto beta1 = static_cast<float>(options_.beta1), beta2 = static_cast<float>(options_.beta2);
  const auto new1 = static_cast<float>(1.0 - options_.beta1), new2 = static_cast<float>(1.0 - options_.beta2);
  const auto eps = static_cast<float>(options_.eps);
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
