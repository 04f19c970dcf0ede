#include <functional>
#include <map>

#include "core/nearest.h"
#include "lockstep/error.h"
#include "lockstep/optimizer.h"
#include "optim/adamw.h"
#include "optim/checks.h"
#include "optim/lamb.h"
#include "optim/lars.h"
#include "optim/sgd.h"

namespace lockstep {
namespace {

using Make = std::function<std::unique_ptr<Optimizer>(const OptimizerOptions&)>;

const std::map<std::string, Make>& registry() {
  static const std::map<std::string, Make> rules = {
      {"adamw", [](const OptimizerOptions& options) { return std::make_unique<AdamW>(options); }},
      {"lamb", [](const OptimizerOptions& options) { return std::make_unique<Lamb>(options); }},
      {"lars", [](const OptimizerOptions& options) { return std::make_unique<Lars>(options); }},
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

std::unique_ptr<Optimizer> make_optimizer(const OptimizerOptions& options) {
  const auto found = registry().find(options.name);
  if (found == registry().end()) {
    throw Error(Category::usage, unknown_name("optimizer", options.name, optimizer_names()));
  }
  check_common(options);
  return found->second(options);
}

}  // namespace lockstep
