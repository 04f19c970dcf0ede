#include "models/json/json_network.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <span>

#include "core/files/file.h"
#include "core/nearest.h"
#include "core/printable.h"
#include "graph/operations.h"
#include "lockstep/error.h"
#include "models/json/json_document.h"
#include "models/json/layer_options.h"

namespace lockstep {
namespace {

constexpr std::size_t max_layers = 4096;

/// Reads an option of an operation from a layer of a file; a missing option keeps its default. `classes`:
/// value of OperationField::word.
template <class Value>
void read_field(LayerOptions& options, int classes, Value& value, const OperationField& field) {
  if constexpr (std::is_same_v<Value, bool>) {
    value = options.flag(field.name, value);
  } else if constexpr (std::is_same_v<Value, double>) {
    value = options.number(field.name, value);
  } else if constexpr (std::is_same_v<Value, Initializer>) {
    value = options.initializer(field.name, value);
  } else if (field.word != nullptr) {
    value = options.integer_or(field.name, field.min, field.max, field.word, classes);
  } else if (field.required) {
    value = options.integer(field.name, field.min, field.max);
  } else {
    value = options.integer(field.name, field.min, field.max, value);
  }
}

/// Names of values in a list of layers, including those of enclosing lists.
struct Scope {
  const Scope* outer;
  std::string prefix;  ///< of the names of layers in the network
  Value input;         ///< input of the list, named "input"
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
  Builder(Network& network, std::string file, int classes)
      : network_(network), file_(std::move(file)), classes_(classes) {}

  /// Adds the layers of `list`, of which the first reads scope.input. Returns the value of the last layer.
  Value add_list(const JsonValue& list, Scope& scope) {
    if (list.kind != JsonValue::Kind::list || list.items.empty()) {
      refuse(list.line, "layers must be a list of at least one layer");
    }
    Value last = scope.input;
    for (std::size_t i = 0; i < list.items.size(); ++i) {
      const JsonValue& layer = list.items[i];
      if (layer.kind != JsonValue::Kind::object) {
        refuse(layer.line, "a layer must be an object such as {\"op\": \"relu\"}");
      }
      later_ = {list.items.begin() + static_cast<std::ptrdiff_t>(i), list.items.end()};
      last = layer.find("layers") != nullptr ? add_group(layer, last, scope) : add_layer(layer, last, scope);
    }
    return last;
  }

  /// Sets the logits. Refuses a number of values other than classes, and layers that nothing reads.
  void finish(Value logits, const JsonValue& layers) {
    if (logits.shape() != Shape{classes_, 1, 1}) {
      const Shape& shape = logits.shape();
      refuse(layers.items.back().line,
             fmt::format("the last layer has {}x{}x{} values, but {} classes need {}: end with {{\"op\": "
                         "\"linear\", \"features\": \"classes\"}}",
                         shape.channels, shape.height, shape.width, classes_, classes_));
    }
    network_.output(logits);
    std::vector<bool> read(network_.layers().size(), false);
    read[static_cast<std::size_t>(logits.id())] = true;
    for (const Network::Layer& layer : network_.layers()) {
      for (const int input : layer.inputs) read[static_cast<std::size_t>(input)] = true;
    }
    for (std::size_t i = 1; i < read.size(); ++i) {
      if (!read[i]) {
        refuse(lines_[i - 1], fmt::format("nothing reads layer '{}'", network_.layers()[i].name));
      }
    }
  }

 private:
  [[noreturn]] void refuse(int line, const std::string& reason) const {
    throw Error(Category::usage, fmt::format("{}:{}: {}", file_, line, reason));
  }

  Value add_group(const JsonValue& group, Value previous, Scope& scope) {
    LayerOptions options(group, file_);
    const std::string name = options.text("name");
    const int repeat = options.integer("repeat", 1, static_cast<int>(max_layers), 1);
    const std::vector<Value> inputs = read_inputs(options, previous, scope);
    const JsonValue& layers = *options.layers("layers");
    options.finish();
    if (inputs.size() != 1) {
      options.refuse("a group of layers has one input");
    }
    Value value = inputs.front();
    for (int i = 0; i < repeat; ++i) {
      const std::string number = group.find("repeat") != nullptr ? fmt::format("{}.", i) : "";
      Scope inner{&scope, name.empty() ? scope.prefix : fmt::format("{}{}.{}", scope.prefix, name, number),
                  value};
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

  Value add_layer(const JsonValue& layer, Value previous, Scope& scope) {
    LayerOptions options(layer, file_);
    const std::string op = options.text("op");
    Operation operation = find_operation(op, options);
    visit_fields(operation, [&](auto& value, const OperationField& field) {
      read_field(options, classes_, value, field);
    });
    const std::string name = options.text("name");
    const std::vector<Value> inputs = read_inputs(options, previous, scope);
    options.finish();
    const Value value =
        add(layer, std::move(operation), inputs, name.empty() ? "" : scope.prefix + name, options);
    declare(name, value, options, scope);
    return value;
  }

  Value add(const JsonValue& layer, Operation operation, const std::vector<Value>& inputs,
            const std::string& name, const LayerOptions& options) {
    if (network_.layers().size() > max_layers) {
      options.refuse(fmt::format("more than {} layers", max_layers));
    }
    lines_.push_back(layer.line);
    try {
      return network_.add(std::move(operation), inputs, name);
    } catch (const Error& error) {
      refuse(layer.line, error.what());
    }
  }

  void declare(const std::string& name, Value value, const LayerOptions& options, Scope& scope) const {
    if (name == "input" || (!name.empty() && !scope.values.emplace(name, value).second)) {
      options.refuse(fmt::format("the name '{}' is taken", name));
    }
  }

  /// Values that a layer reads: those it names, or the previous one.
  std::vector<Value> read_inputs(LayerOptions& options, Value previous, const Scope& scope) const {
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

  Value find_input(const std::string& name, const LayerOptions& options, const Scope& scope) const {
    if (const Value* value = scope.find(name)) {
      return *value;
    }
    const bool comes_later = std::any_of(later_.begin(), later_.end(), [&](const JsonValue& layer) {
      const JsonValue* other = layer.find("name");
      return other != nullptr && other->text == name;
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
  std::string file_;
  int classes_;
  std::vector<int> lines_;            ///< of the network's layers after the input
  std::span<const JsonValue> later_;  ///< the current layer of a list and those after it
};

/// The list of layers of a document, which may contain nothing else.
const JsonValue& layers_of(const JsonValue& document, const std::string& origin) {
  const std::vector<std::string> known{"layers"};
  for (const std::string& key : document.keys) {
    if (key != known.front()) {
      throw Error(Category::usage, fmt::format("{}:{}: {}", origin, document.find(key)->line,
                                               unknown_name("key", key, known)));
    }
  }
  const JsonValue* layers = document.find(known.front());
  if (layers == nullptr) {
    throw Error(Category::usage,
                fmt::format("{}:{}: must be an object {{\"layers\": [...]}}", origin, document.line));
  }
  return *layers;
}

}  // namespace

std::unique_ptr<Network> parse_network(std::string_view json, const std::string& origin, Shape input,
                                       int classes) {
  const JsonValue document = parse_json(json, origin);
  const JsonValue& layers = layers_of(document, origin);
  auto network = std::make_unique<Network>(input);
  Builder builder(*network, origin, classes);
  Scope scope{nullptr, "", network->input()};
  builder.finish(builder.add_list(layers, scope), layers);
  return network;
}

std::unique_ptr<Network> read_network(const std::string& file, Shape input, int classes) {
  const std::vector<std::byte> bytes = read_file(file);
  return parse_network({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, file, input, classes);
}

}  // namespace lockstep
