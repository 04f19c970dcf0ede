#include "onnx/protobuf/imported_layers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "core/text/printable.h"
#include "graph/operations.h"
#include "lockstep/error.h"
#include "models/json/json_network.h"
#include "onnx/initial_values.h"

namespace lockstep {
namespace {

std::vector<Shape> shapes_of(const std::vector<ImportedLayer>& layers, const std::vector<int>& inputs) {
  std::vector<Shape> shapes;
  for (const int input : inputs) shapes.push_back(layers[static_cast<std::size_t>(input)].shape);
  return shapes;
}

/// Text of an initializer in notes: "he_fan_out", "normal 0.01".
std::string text_of(const Initializer& initializer) {
  const std::string name = name_of(initializer.kind);
  return has_scale(initializer.kind) ? fmt::format("{} {}", name, initializer.scale) : name;
}

/// Whether a layer in a network file can have this name. The names of its parameters, which are longer, must
/// be possible, too.
bool can_be_name(const std::string& name) {
  const std::string longest = name + ".running_mean";
  return !name.empty() && name != "input" && printable(longest) == longest;
}

/// Counts layers by the rule for the initial values of their weights.
class RuleCounts {
 public:
  /// `rule`: nullopt if the weights are trained.
  void add(const std::optional<Initializer>& rule) {
    if (!rule) {
      ++trained_;
      return;
    }
    const std::string text = text_of(*rule);
    const auto known = std::ranges::find(counts_, text, &std::pair<std::string, int>::first);
    (known == counts_.end() ? counts_.emplace_back(text, 0) : *known).second += 1;
  }

  void describe(std::vector<std::string>& notes) const {
    std::vector<std::string> texts;
    for (const auto& [rule, count] : counts_) texts.push_back(fmt::format("{} (layers: {})", rule, count));
    if (!texts.empty()) {
      notes.push_back(fmt::format("first values of a training from scratch, as the weights suggest: {}",
                                  fmt::join(texts, ", ")));
    }
    if (trained_ > 0) {
      notes.push_back(fmt::format(
          "layers with trained weights: {}; a training from scratch begins with PyTorch's default",
          trained_));
    }
  }

 private:
  std::vector<std::pair<std::string, int>> counts_;  ///< in the order in which they were found
  int trained_ = 0;
};

}  // namespace

Shape ImportedLayers::infer_shape(const OnnxNode& node, const Operation& operation,
                                  const std::vector<Shape>& inputs) {
  const std::string name = name_of(operation);
  Shape shape;
  try {
    shape = infer(operation, {.name = name, .inputs = inputs});
  } catch (const Error& error) {
    node.refuse(error.what());
  }
  if (1.0 * shape.channels * shape.height * shape.width > static_cast<double>(max_values)) {
    node.refuse("its result is too large");
  }
  return shape;
}

int ImportedLayers::add(const OnnxNode& node, ImportedLayer layer) {
  layer.shape = infer_shape(node, layer.operation, shapes_of(layers_, layer.inputs));
  if (layers_.size() > max_layers) {
    node.refuse(
        fmt::format("the model has more than {} layers, which a network file cannot contain", max_layers));
  }
  layers_.push_back(std::move(layer));
  return static_cast<int>(layers_.size()) - 1;
}

std::vector<Parameter> ImportedLayers::parameters(const ImportedLayer& layer) const {
  const std::vector<Shape> shapes = shapes_of(layers_, layer.inputs);
  return parameters_of(layer.operation, {.name = layer.name, .inputs = shapes});
}

/// Keeps only the layer `output`, which becomes the last layer, the layers on which it depends, and the
/// input.
void ImportedLayers::remove_all_but_sources_of(int output) {
  std::vector<bool> is_read(layers_.size());
  is_read.front() = true;
  is_read[static_cast<std::size_t>(output)] = true;
  for (std::size_t i = layers_.size(); i-- > 0;) {
    if (!is_read[i]) continue;
    for (const int input : layers_[i].inputs) is_read[static_cast<std::size_t>(input)] = true;
  }
  std::vector<int> positions;  // [layer] position among the layers that are left
  std::vector<ImportedLayer> left;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    positions.push_back(static_cast<int>(left.size()));
    if (!is_read[i]) continue;
    for (int& input : layers_[i].inputs) input = positions[static_cast<std::size_t>(input)];
    left.push_back(std::move(layers_[i]));
  }
  layers_ = std::move(left);
}

/// Numbers layers with parameters but without a usable name. Folded or computed weights have names such as
/// "onnx::Conv_193", or none.
void ImportedLayers::complete_names(OnnxImport& result) {
  std::set<std::string> taken;
  for (ImportedLayer& layer : layers_) {
    if (!can_be_name(layer.name) || !taken.insert(layer.name).second) layer.name.clear();
  }
  int unnamed = 0;
  for (std::size_t i = 1; i < layers_.size(); ++i) {
    ImportedLayer& layer = layers_[i];
    if (!layer.name.empty() || parameters(layer).empty()) continue;
    for (int number = 1; layer.name.empty(); ++number) {
      const std::string name = fmt::format("{}{}", prefix_of(layer.operation), number);
      if (taken.insert(name).second) layer.name = name;
    }
    ++unnamed;
  }
  if (unnamed > 0) {
    result.notes.push_back(
        fmt::format("layers without a name in the model, which are numbered: {}; an exporter that folds "
                    "batch norm into convolutions drops the names",
                    unnamed));
  }
}

void ImportedLayers::choose_initializers(OnnxImport& result) {
  RuleCounts counts;
  for (ImportedLayer& layer : layers_) {
    const auto choose = [&](auto& options) {
      if constexpr (requires { options.eps; }) {
        options.weight = find_constant_initializer(layer.values[0]).value_or(options.weight);
      } else if constexpr (requires { options.bias; }) {
        const auto bias = options.bias ? std::span<const float>(layer.values[1]) : std::span<const float>();
        const auto rule = find_initializer(layer.values[0], parameters(layer)[0].shape, bias);
        options.weight = rule.value_or(options.weight);
        counts.add(rule);
      }
    };
    std::visit(choose, layer.operation);
  }
  counts.describe(result.notes);
}

void ImportedLayers::build(int output, bool with_weights, OnnxImport& result) {
  remove_all_but_sources_of(output);
  complete_names(result);
  if (with_weights) choose_initializers(result);
  result.network = std::make_unique<Network>(layers_.front().shape);
  Network& network = *result.network;
  std::vector<Value> values{network.input()};
  for (std::size_t i = 1; i < layers_.size(); ++i) {
    ImportedLayer& layer = layers_[i];
    std::vector<Value> inputs;
    for (const int input : layer.inputs) inputs.push_back(values[static_cast<std::size_t>(input)]);
    values.push_back(network.add(layer.operation, inputs, layer.name));
    if (!with_weights) continue;
    for (std::vector<float>& weights : layer.values) result.weights.push_back(std::move(weights));
  }
  network.output(values.back());
}

}  // namespace lockstep
