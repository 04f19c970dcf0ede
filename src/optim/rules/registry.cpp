#include <map>

#include "core/options/check.h"
#include "optim/rules/rules.h"

namespace lockstep {
namespace {

using Variant = OptimizerRule::Variant;

Variant make_sgd(const OptimizerOptions& options) {
  return with_momentum(options, [&]<Momentum momentum>() -> Variant {
    return Sgd<momentum>{.weight_decay = static_cast<float>(options.weight_decay),
                         .keep = static_cast<float>(options.momentum)};
  });
}

Variant make_adamw(const OptimizerOptions& options) {
  return AdamW{.beta1 = options.beta1,
               .beta2 = options.beta2,
               .eps = static_cast<float>(options.eps > 0.0 ? options.eps : 1e-8),
               .weight_decay = static_cast<float>(options.weight_decay)};
}

Variant make_lars(const OptimizerOptions& options) {
  return with_momentum(options, [&]<Momentum momentum>() -> Variant {
    return Lars<momentum>{.trust_coefficient = options.trust_coefficient,
                          .eps = options.eps > 0.0 ? options.eps : 1e-8,
                          .weight_decay = options.weight_decay,
                          .keep = static_cast<float>(options.momentum)};
  });
}

Variant make_lamb(const OptimizerOptions& options) {
  return Lamb{.beta1 = options.beta1,
              .beta2 = options.beta2,
              .eps = static_cast<float>(options.eps > 0.0 ? options.eps : 1e-6),
              .weight_decay = static_cast<float>(options.weight_decay)};
}

using Make = Variant (*)(const OptimizerOptions&);

const std::map<std::string, Make>& registry() {
  static const std::map<std::string, Make> rules = {
      {"adamw", make_adamw},
      {"lamb", make_lamb},
      {"lars", make_lars},
      {"sgd", make_sgd},
  };
  return rules;
}

}  // namespace

std::vector<std::string> optimizer_names() {
  std::vector<std::string> names;
  for (const auto& [name, make] : registry()) {
    names.push_back(name);
  }
  return names;
}

OptimizerRule make_rule(const OptimizerOptions& options) {
  check_fields(options);
  return {registry().at(options.name)(options)};
}

}  // namespace lockstep
