#include <map>

#include "core/options/check.h"
#include "lockstep/error.h"
#include "optim/rules/rule_optimizer.h"
#include "optim/rules/rules.h"

namespace lockstep {
namespace {

OptimizerRule make_sgd(const OptimizerOptions& options) {
  return with_momentum(options, [&]<Momentum momentum>() -> OptimizerRule {
    return Sgd<momentum>{.weight_decay = static_cast<float>(options.weight_decay),
                         .keep = static_cast<float>(options.momentum)};
  });
}

OptimizerRule make_adamw(const OptimizerOptions& options) {
  return AdamW{.beta1 = options.beta1,
               .beta2 = options.beta2,
               .eps = static_cast<float>(options.eps > 0.0 ? options.eps : 1e-8),
               .weight_decay = static_cast<float>(options.weight_decay)};
}

OptimizerRule make_lars(const OptimizerOptions& options) {
  return with_momentum(options, [&]<Momentum momentum>() -> OptimizerRule {
    return Lars<momentum>{.trust_coefficient = options.trust_coefficient,
                          .eps = options.eps > 0.0 ? options.eps : 1e-8,
                          .weight_decay = options.weight_decay,
                          .keep = static_cast<float>(options.momentum)};
  });
}

OptimizerRule make_lamb(const OptimizerOptions& options) {
  return Lamb{.beta1 = options.beta1,
              .beta2 = options.beta2,
              .eps = static_cast<float>(options.eps > 0.0 ? options.eps : 1e-6),
              .weight_decay = static_cast<float>(options.weight_decay)};
}

using Make = OptimizerRule (*)(const OptimizerOptions&);

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
  return registry().at(options.name)(options);
}

std::unique_ptr<Optimizer> make_optimizer(const OptimizerOptions& options) {
  return std::visit(
      []<class Rule>(const Rule& rule) -> std::unique_ptr<Optimizer> {
        return std::make_unique<RuleOptimizer<Rule>>(rule);
      },
      make_rule(options));
}

}  // namespace lockstep
