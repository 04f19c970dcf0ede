#include <map>

#include "core/options/check.h"
#include "lockstep/error.h"
#include "optim/rules/rule_optimizer.h"
#include "optim/rules/rules.h"

namespace lockstep {
namespace {

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

template <class Rule>
std::unique_ptr<Optimizer> optimizer_by(const Rule& rule) {
  if constexpr (Rule::layerwise) {
    return std::make_unique<LayerwiseRuleOptimizer<Rule>>(rule);
  } else {
    return std::make_unique<RuleOptimizer<Rule>>(rule);
  }
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
  return std::visit([](const auto& rule) { return optimizer_by(rule); }, make_rule(options));
}

}  // namespace lockstep
