#include "models/json/json_network.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <span>

#include "core/files/file.h"
#include "core/json/json.h"
#include "core/text/as_text.h"
#include "core/text/nearest.h"
#include "core/text/printable.h"
#include "graph/operations.h"
#include "lockstep/error.h"
#include "models/json/layer_options.h"

namespace lockstep {
namespace {

constexpr std::size_t max_bytes = std::size_t{1} << 20;

/// Names of values in a list of layers and in the lists around it.
struct NameScope {
  const NameScope* outer;
  std::string prefix;  ///< prefix of the layers' names in the network
  Value input;         ///< input of the list, which layers can read by the name "input"
  std::map<std::string, Value> values{};

  const Value* find(const std::string& name) const {
    if (name == "input") return &input;
    const auto found = values.find(name);
    if (found != values.end()) return &found->second;
    return outer == nullptr ? nullptr : outer->find(name);
  }
  void collect(std::vector<std::string>& names) const {
    for (const auto& [name, value] : values) names.push_back(name);
    if (outer != nullptr) outer->collect(names);
  }
};

/// Builds the layers of a document in their order.
class Builder {
 public:
  Builder(Network& network, const JsonDocument& document, int classes)
      : network_(network), document_(document), classes_(classes) {}

  /// Adds the layers of `list`; the first layer reads scope.input. Returns the value of the last layer.
  Value add_list(const JsonValue& list, NameScope& scope) {
    if (!list.is_array() || list.empty()) {
      document_.refuse_line(list, "layers must be a list of at least one layer");
    }
    Value last = scope.input;
    const std::span<const JsonValue> layers = list.get_ref<const JsonValue::array_t&>();
    for (const JsonValue& layer : layers) {
      if (!layer.is_object()) {
        document_.refuse_line(layer, "a layer must be an object such as {\"op\": \"relu\"}");
      }
      later_ = layers.subspan(static_cast<std::size_t>(&layer - layers.data()));
      last = layer.contains("layers") ? add_group(layer, last, scope) : add_layer(layer, last, scope);
    }
    return last;
  }

  /// Sets the logits. Refuses logits whose number of values is not the number of classes, and layers that
  /// nothing reads.
  void finish(Value logits, const JsonValue& layers) {
    if (logits.shape() != Shape{classes_, 1, 1}) {
      const Shape& shape = logits.shape();
      document_.refuse_line(
          layers.back(),
          fmt::format(
              "the last layer has {}x{}x{} values instead of {} (the number of classes): end with {{\"op\": "
              "\"linear\", \"features\": \"classes\"}}",
              shape.channels, shape.height, shape.width, classes_));
    }
    network_.output(logits);
    std::vector<bool> read(network_.layers().size(), false);
    read[static_cast<std::size_t>(logits.id())] = true;
    for (const Network::Layer& layer : network_.layers()) {
      for (const int input : layer.inputs) read[static_cast<std::size_t>(input)] = true;
    }
    for (std::size_t i = 1; i < read.size(); ++i) {
      if (!read[i]) {
        document_.refuse_line(*descriptions_[i - 1],
                              fmt::format("nothing reads layer '{}'", network_.layers()[i].name));
      }
    }
  }

 private:
  Value add_group(const JsonValue& group, Value previous, NameScope& scope) {
    LayerOptions options(document_, group, classes_);
    const std::string name = options.text("name");
    int repeat = 1;
    options.read(repeat, {.name = "repeat", .min = 1, .max = static_cast<int>(max_layers)});
    const std::vector<Value> inputs = read_inputs(options, previous, scope);
    const JsonValue& layers = *options.layers("layers");
    options.finish();
    if (inputs.size() != 1) {
      options.refuse("a group of layers has one input");
    }
    Value value = inputs.front();
    for (int i = 0; i < repeat; ++i) {
      const std::string number = group.contains("repeat") ? fmt::format("{}.", i) : "";
      NameScope inner{
          &scope, name.empty() ? scope.prefix : fmt::format("{}{}.{}", scope.prefix, name, number), value};
      value = add_list(layers, inner);
    }
    declare(name, value, options, scope);
    return value;
  }

  static Operation find_operation(const std::string& name, const LayerOptions& options) {
    std::vector<std::string> known;
    for (const Operation& operation : operations_of_files()) {
      known.push_back(name_of(operation));
      if (known.back() == name) return operation;
    }
    if (name.empty()) options.refuse(fmt::format("op is missing; known: {}", fmt::join(known, ", ")));
    options.refuse(unknown_name("op", name, known));
  }

  Value add_layer(const JsonValue& layer, Value previous, NameScope& scope) {
    LayerOptions options(document_, layer, classes_);
    const std::string op = options.text("op");
    Operation operation = find_operation(op, options);
    visit_fields(operation, [&](auto& value, const OperationField& field) { options.read(value, field); });
    const std::string name = options.text("name");
    const std::vector<Value> inputs = read_inputs(options, previous, scope);
    options.finish();
    const std::string whole = name.empty() ? "" : scope.prefix + name;
    if (printable(whole) != whole) {
      options.refuse(fmt::format("its full name, with the names of its groups, is longer than 100 bytes: {}",
                                 printable(whole)));
    }
    const Value value = add(layer, std::move(operation), inputs, whole, options);
    declare(name, value, options, scope);
    return value;
  }

  Value add(const JsonValue& layer, Operation operation, const std::vector<Value>& inputs,
            const std::string& name, const LayerOptions& options) {
    if (network_.layers().size() > max_layers) {
      options.refuse(fmt::format("more than {} layers", max_layers));
    }
    descriptions_.push_back(&layer);
    try {
      return network_.add(std::move(operation), inputs, name);
    } catch (const Error& error) {
      document_.refuse_line(layer, error.what());
    }
  }

  void declare(const std::string& name, Value value, const LayerOptions& options, NameScope& scope) const {
    if (name == "input" || (!name.empty() && !scope.values.emplace(name, value).second)) {
      options.refuse(fmt::format("the name '{}' is taken", name));
    }
  }

  /// Inputs of a layer: the values that the layer names or, if it names none, the previous value.
  std::vector<Value> read_inputs(LayerOptions& options, Value previous, const NameScope& scope) const {
    const std::string input = options.text("input");
    std::vector<std::string> names = options.texts("inputs");
    if (!input.empty() && !names.empty()) {
      options.refuse("has both input and inputs");
    }
    if (!input.empty()) {
      names = {input};
    }
    std::vector<Value> values;
    for (const std::string& name : names) {
      values.push_back(find_input(name, options, scope));
    }
    if (values.empty()) {
      values.push_back(previous);
    }
    return values;
  }

  Value find_input(const std::string& name, const LayerOptions& options, const NameScope& scope) const {
    if (const Value* value = scope.find(name)) {
      return *value;
    }
    const bool comes_later = std::any_of(later_.begin(), later_.end(), [&](const JsonValue& layer) {
      return layer.is_object() && layer.contains("name") && layer["name"] == name;
    });
    if (comes_later) {
      options.refuse(
          fmt::format("input '{}' is defined later: a layer can only read layers before it", name));
    }
    std::vector<std::string> known{"input"};
    scope.collect(known);
    const bool shown = std::any_of(network_.layers().begin(), network_.layers().end(),
                                   [&](const Network::Layer& layer) { return layer.name == name; });
    const char* const rule = "; only layers with a \"name\", in this list or those around it, can be inputs";
    options.refuse(unknown_name("input", name, known) + (shown ? rule : ""));
  }

  Network& network_;
  const JsonDocument& document_;
  int classes_;
  std::vector<const JsonValue*> descriptions_;  ///< JSON of the network's layers, except the input
  /// The current layer of a list and all later layers of the list.
  std::span<const JsonValue> later_;
};

/// List of layers of a document. Refuses a document that contains anything else.
const JsonValue& layers_of(const JsonDocument& document) {
  const JsonValue& root = document.root();
  const std::vector<std::string> known{"layers"};
  if (!root.is_object() || root.empty()) {
    document.refuse_line(root, "must be an object {\"layers\": [...]}");
  }
  for (const auto& [key, value] : root.items()) {
    if (key != known.front()) document.refuse_line(value, unknown_name("key", key, known));
  }
  return root.front();
}

}  // namespace

std::unique_ptr<Network> parse_network(std::string_view json, const std::string& origin, Shape input,
                                       int classes) {
  if (json.size() > max_bytes) {
    throw Error(Category::usage,
                fmt::format("{}: {} bytes are more than the limit of {}", origin, json.size(), max_bytes));
  }
  const JsonDocument document(json, {.file = origin, .category = Category::usage});
  const JsonValue& layers = layers_of(document);
  auto network = std::make_unique<Network>(input);
  Builder builder(*network, document, classes);
  NameScope scope{nullptr, "", network->input()};
  builder.finish(builder.add_list(layers, scope), layers);
  return network;
}

std::unique_ptr<Network> read_network(const std::string& file, Shape input, int classes) {
  return parse_network(as_text(read_file(file)), file, input, classes);
}

}  // namespace lockstep
