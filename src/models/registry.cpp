#include <fmt/format.h>

#include <functional>
#include <map>
#include <optional>

#include "core/text/nearest.h"
#include "core/text/printable.h"
#include "core/text/split.h"
#include "core/text/whole_number.h"
#include "lockstep/error.h"
#include "lockstep/models.h"
#include "models/architectures.h"
#include "models/json/json_network.h"

namespace lockstep {
namespace {

using Make = std::function<std::unique_ptr<Network>(Shape, int)>;

const std::map<std::string, Make>& registry() {
  static const std::map<std::string, Make> models = {
      {"alexnet", alexnet},
      {"lenet", lenet},
      {"mlp", [](Shape input, int classes) { return mlp(input, classes, {256}); }},
      {"mobilenet-v2", mobilenet_v2},
      {"resnet18", resnet18},
      {"resnet18-d2l", resnet18_d2l},
      {"resnet20", resnet20},
      {"resnet34", resnet34},
      {"resnet50", resnet50},
      {"vgg11", vgg11},
      {"vgg11-bn", vgg11_bn},
      {"vgg16", vgg16},
      {"vgg16-bn", vgg16_bn},
  };
  return models;
}

/// Widths in a name such as "mlp:256,128"; empty if the name does not start with "mlp:".
std::vector<int> mlp_widths(const std::string& name) {
  constexpr std::string_view prefix = "mlp:";
  constexpr int max_width = 1 << 20;
  if (!name.starts_with(prefix)) {
    return {};
  }
  std::vector<int> widths;
  for (const std::string& text : split(std::string_view(name).substr(prefix.size()), ',')) {
    const std::optional<int> width = whole_number<int>(text);
    if (!width || *width < 1 || *width > max_width) {
      throw Error(Category::usage, "model '" + printable(name) +
                                       "': mlp: must be followed by widths from 1 to 1048576, separated by "
                                       "commas, as in mlp:256,128");
    }
    widths.push_back(*width);
  }
  return widths;
}

Make find_model(const std::string& name) {
  if (names_network_file(name)) {
    return [name](Shape input, int classes) { return read_network(name, input, classes); };
  }
  if (const std::vector<int> widths = mlp_widths(name); !widths.empty()) {
    return [widths](Shape input, int classes) { return mlp(input, classes, widths); };
  }
  const auto found = registry().find(name);
  if (found == registry().end()) {
    throw Error(Category::usage, unknown_name("model", name, model_names()));
  }
  return found->second;
}

}  // namespace

void require_input(const std::string& model, Shape input, int min_size) {
  if (input.height < min_size || input.width < min_size) {
    const bool is_table = input.height == 1 && input.width == 1;
    throw Error(Category::usage,
                fmt::format("model {} takes images of at least {}x{} pixels, not {}x{}{}", model, min_size,
                            min_size, input.height, input.width, is_table ? ": model mlp takes tables" : ""));
  }
}

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const auto& [name, make] : registry()) {
    names.push_back(name);
  }
  return names;
}

bool names_network_file(const std::string& name) { return name.ends_with(".json"); }

void check_model_name(const std::string& name) { find_model(name); }

std::unique_ptr<Network> make_model(const std::string& name, Shape input, int classes) {
  return find_model(name)(input, classes);
}

}  // namespace lockstep
