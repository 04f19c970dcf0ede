#include <cmath>
#include <functional>
#include <map>

#include "core/nearest.h"
#include "lockstep/error.h"
#include "lockstep/optimizer.h"
#include "optim/adamw.h"
#include "optim/sgd.h"

namespace lockstep {
namespace {

using Make = std::function<std::unique_ptr<Optimizer>(const OptimizerOptions&)>;

const std::map<std::string, Make>& registry() {
  static const std::map<std::string, Make> rules = {
      {"adamw", [](const OptimizerOptions& options) { return std::make_unique<AdamW>(options); }},
      {"sgd", [](const OptimizerOptions& options) { return std::make_unique<Sgd>(options); }},
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

std::unique_ptr<Optimizer> make_optimizer(const std::string& name, const OptimizerOptions& options) {
  const auto found = registry().find(name);
  if (found == registry().end()) {
    throw Error(Category::usage, unknown_name("optimizer", name, optimizer_names()));
  }
  if (!(options.weight_decay >= 0.0F) || std::isinf(options.weight_decay)) {
    throw Error(Category::usage,
                "weight decay must be at least 0, not " + std::to_string(options.weight_decay));
  }
  return found->second(options);
}

}  // namespace lockstep
