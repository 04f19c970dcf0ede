#include <functional>
#include <map>

#include "core/nearest.h"
#include "lockstep/error.h"
#include "lockstep/models.h"
#include "models/lenet.h"

namespace lockstep {
namespace {

using Make = std::function<std::unique_ptr<Network>(Shape, int)>;

const std::map<std::string, Make>& registry() {
  static const std::map<std::string, Make> models = {
      {"lenet", lenet},
  };
  return models;
}

}  // namespace

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const auto& [name, make] : registry()) {
    names.push_back(name);
  }
  return names;
}

std::unique_ptr<Network> make_model(const std::string& name, Shape input, int classes) {
  const auto found = registry().find(name);
  if (found == registry().end()) {
    throw Error(Category::usage, unknown_name("model", name, model_names()));
  }
  return found->second(input, classes);
}

}  // namespace lockstep
