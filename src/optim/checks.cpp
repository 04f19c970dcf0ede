#include "optim/checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lockstep/error.h"

namespace lockstep {
namespace {

[[noreturn]] void refuse(const std::string& message) { throw Error(Category::usage, message); }

}  // namespace

void check_used(const OptimizerOptions& options, std::initializer_list<std::string_view> used) {
  const OptimizerOptions defaults;
  const struct {
    std::string_view name;
    bool given;
  } rows[] = {
      {"momentum", options.momentum != defaults.momentum},
      {"nesterov", options.nesterov != defaults.nesterov},
      {"betas", options.beta1 != defaults.beta1 || options.beta2 != defaults.beta2},
      {"eps", options.eps != defaults.eps},
      {"trust coefficient", options.trust_coefficient != defaults.trust_coefficient},
      {"always adapt", options.always_adapt != defaults.always_adapt},
  };
  for (const auto& [name, given] : rows) {
    if (given && std::find(used.begin(), used.end(), name) == used.end()) {
      refuse(fmt::format("{} has no use for the option {}: leave it out", options.name, name));
    }
  }
}

void check_momentum(const OptimizerOptions& options) {
  if (!(options.momentum >= 0.0 && static_cast<float>(options.momentum) < 1.0F)) {
    refuse(fmt::format("momentum must be in [0, 1), not {}", options.momentum));
  }
  if (options.nesterov && options.momentum == 0.0) refuse("Nesterov's rule needs a momentum above 0");
}

void check_betas(const OptimizerOptions& options) {
  for (const double beta : {options.beta1, options.beta2}) {
    if (!(beta >= 0.0 && beta < 1.0)) {
      refuse(fmt::format("{}'s betas must be in [0, 1), not {}", options.name, beta));
    }
  }
}

double eps_or(double otherwise, const OptimizerOptions& options) {
  if (!(options.eps >= 0.0) || std::isinf(options.eps)) {
    refuse(fmt::format("{}'s eps must be at least 0 (0: {}), not {}", options.name, otherwise, options.eps));
  }
  return options.eps > 0.0 ? options.eps : otherwise;
}

void check_common(const OptimizerOptions& options) {
  const struct {
    std::string_view name;
    double value;
  } rows[] = {{"weight decay", options.weight_decay},
              {"the largest norm of the gradient", options.clip_grad},
              {"the trust coefficient", options.trust_coefficient}};
  for (const auto& [name, value] : rows) {
    if (!(value >= 0.0) || std::isinf(value)) {
      refuse(fmt::format("{} must be a number of at least 0, not {}", name, value));
    }
  }
}

}  // namespace lockstep
