#include "graph/summary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <set>
#include <string>

#include "core/hash.h"
#include "core/text/printable.h"
#include "graph/operations.h"

namespace lockstep {
namespace {

/// Text that shows an option in a table of layers; may be empty.
std::string shown(const FieldText& text) {
  switch (text.field.show) {
    case Show::never:
      return "";
    case Show::size:
      return fmt::format(" {}x{}", text.value, text.value);
    case Show::value:
      return " " + text.value;
    case Show::unusual:
      break;
  }
  if (text.value == text.usual) return "";
  if (text.field.shown_as != nullptr) return fmt::format(" {}", text.field.shown_as);
  return text.value == "true" ? fmt::format(" {}", text.field.name)
                              : fmt::format(" {} {}", text.field.name, text.value);
}

}  // namespace

std::string describe(const Operation& operation) {
  std::string text = name_of(operation);
  for (const FieldText& field : field_texts(operation)) text += shown(field);
  return text;
}

std::uint64_t multiply_adds(const Network& network, const Network::Layer& layer) {
  std::vector<Shape> inputs;
  for (const int input : layer.inputs) {
    inputs.push_back(network.layers()[static_cast<std::size_t>(input)].shape);
  }
  return multiply_adds(layer.operation, {.name = layer.name, .inputs = inputs, .output = layer.shape});
}

std::vector<std::size_t> layers_of(const Graph& graph, std::size_t node) {
  std::vector<std::size_t> layers;
  for (std::size_t i = 0; i < graph.node_of_layer.size(); ++i) {
    if (graph.node_of_layer[i] == static_cast<int>(node)) layers.push_back(i);
  }
  return layers;
}

bool is_name_in_file(const std::string& name) {
  return !name.empty() && name != "input" && printable(name) == name;
}

std::vector<std::string> names_in_file(const Network& network) {
  const auto& layers = network.layers();
  std::vector<std::string> names;
  std::set<std::string> taken;
  std::map<std::string, int> numbers;  // [prefix] last number used
  for (const Network::Layer& layer : layers) {
    names.push_back(layer.name);
    if (!layer.parameters.empty()) taken.insert(layer.name);
  }
  for (std::size_t i = 1; i < layers.size(); ++i) {
    if (!layers[i].parameters.empty()) continue;
    const std::string prefix = prefix_of(layers[i].operation);
    int& number = numbers.try_emplace(prefix, 1).first->second;
    while (!is_name_in_file(names[i]) || !taken.insert(names[i]).second) {
      names[i] = fmt::format("{}-{}", prefix, ++number);
    }
  }
  return names;
}

std::string fingerprint(const Network& network) {
  std::string text = fmt::format("output {}\n", network.output_id());
  const std::vector<std::string> names = names_in_file(network);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Network::Layer& layer = network.layers()[i];
    text += fmt::format("{} \"{}\"", name_of(layer.operation), names[i]);
    for (const FieldText& field : field_texts(layer.operation)) {
      text += fmt::format(" {}={}", field.field.name, field.value);
    }
    text += fmt::format(" {} {}\n", layer.inputs, LayerContext::text(layer.shape));
  }
  for (const Parameter& parameter : network.parameters()) {
    text += fmt::format("\"{}\" {} {} {} {}\n", parameter.name, parameter.shape,
                        static_cast<int>(parameter.initializer.kind), parameter.initializer.scale,
                        parameter.statistic_momentum);
  }
  return Digest(text).hex();
}

}  // namespace lockstep
