#include "optim/checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

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
      {"--momentum", options.momentum != defaults.momentum},
      {"--nesterov", options.nesterov != defaults.nesterov},
      {"--beta1", options.beta1 != defaults.beta1},
      {"--beta2", options.beta2 != defaults.beta2},
      {"--opt-eps", options.eps != defaults.eps},
      {"--trust-coeff", options.trust_coefficient != defaults.trust_coefficient},
      {"--always-adapt", options.always_adapt != defaults.always_adapt},
  };
  for (const auto& [name, given] : rows) {
    if (given && std::find(used.begin(), used.end(), name) == used.end()) {
      refuse(fmt::format("--optimizer {} has no use for {}: leave it out", options.name, name));
    }
  }
}

void check_momentum(const OptimizerOptions& options) {
  if (!(options.momentum >= 0.0 && static_cast<float>(options.momentum) < 1.0F)) {
    refuse(fmt::format("--momentum must be in [0, 1), not {}", options.momentum));
  }
  if (options.nesterov && options.momentum == 0.0) refuse("--nesterov needs a --momentum above 0");
}

void check_betas(const OptimizerOptions& options) {
  for (const auto& [name, beta] : {std::pair("--beta1", options.beta1), {"--beta2", options.beta2}}) {
    if (!(beta >= 0.0 && static_cast<float>(beta) < 1.0F)) {
      refuse(fmt::format("{} must be in [0, 1), not {}", name, beta));
    }
  }
}

double eps_or(double otherwise, const OptimizerOptions& options) {
  if (!(options.eps >= 0.0) || std::isinf(options.eps)) {
    refuse(fmt::format("--opt-eps must be at least 0 (0: {}), not {}", otherwise, options.eps));
  }
  return options.eps > 0.0 ? options.eps : otherwise;
}

void check_common(const OptimizerOptions& options) {
  const struct {
    std::string_view name;
    double value;
  } rows[] = {{"--weight-decay", options.weight_decay},
              {"--clip-grad", options.clip_grad},
              {"--trust-coeff", options.trust_coefficient}};
  for (const auto& [name, value] : rows) {
    if (!(value >= 0.0) || std::isinf(value)) {
      refuse(fmt::format("{} must be a number of at least 0, not {}", name, value));
    }
  }
}

}  // namespace lockstep
