#include <fmt/format.h>

#include "core/json/json.h"
#include "core/text/printable.h"
#include "graph/operations.h"
#include "graph/summary.h"
#include "lockstep/error.h"
#include "lockstep/models.h"

namespace lockstep {
namespace {

JsonValue value_json(const auto& value) { return value; }
JsonValue value_json(const Initializer& initializer) {
  const std::string name = name_of(initializer.kind);
  if (!has_scale(initializer.kind)) return name;
  return JsonValue::object({{name, initializer.scale}});
}

/// Values that the options of an operation have if a file does not contain them.
std::vector<JsonValue> defaults_of(const Operation& operation) {
  const Operation usual =
      std::visit([]<class Options>(const Options&) -> Operation { return Options{}; }, operation);
  std::vector<JsonValue> values;
  visit_fields(usual, [&](const auto& value, const OperationField&) { values.push_back(value_json(value)); });
  return values;
}

/// Writes the layers of a network in the format of a network file.
class Writer {
 public:
  explicit Writer(const Network& network)
      : network_(network),
        classes_(network.classes()),
        names_(names_in_file(network)),
        is_read_(network.layers().size()) {
    is_read_[static_cast<std::size_t>(network.output_id())] = true;
    for (const Network::Layer& layer : network.layers()) {
      for (const int input : layer.inputs) is_read_[static_cast<std::size_t>(input)] = true;
    }
    for (std::size_t i = 1; i < names_.size(); ++i) {
      const Network::Layer& layer = network.layers()[i];
      if (!is_read_[i]) refuse(layer, "nothing reads it");
      if (!is_name_in_file(names_[i])) refuse(layer, "its name cannot be written");
    }
  }

  std::string text() const {
    std::string text = "{\n  \"layers\": [";
    for (std::size_t i = 1; i < names_.size(); ++i) {
      text += (i == 1 ? "\n    " : ",\n    ") + layer(i).dump();
    }
    return text + "\n  ]\n}\n";
  }

 private:
  [[noreturn]] static void refuse(const Network::Layer& layer, const char* reason) {
    throw Error(Category::usage, fmt::format("layer {}: {}, so a network file cannot contain it",
                                             in_quotes(layer.name), reason));
  }

  JsonValue layer(std::size_t position) const {
    const Network::Layer& layer = network_.layers()[position];
    JsonValue json = {{"op", name_of(layer.operation)}, {"name", names_[position]}};
    add_inputs(json, layer, position);
    const bool is_output = static_cast<int>(position) == network_.output_id();
    std::size_t number = 0;
    visit_fields(layer.operation, [&, defaults = defaults_of(layer.operation)](const auto& value,
                                                                               const OperationField& field) {
      const JsonValue written = value_json(value);
      const JsonValue usual = field.usual ? JsonValue(*field.usual) : defaults[number];
      ++number;
      if (field.word != nullptr && is_output && written == classes_) {
        json[field.name] = field.word;
      } else if (field.required || written != usual) {
        json[field.name] = written;
      }
    });
    return json;
  }

  /// Adds the names of the layer's inputs, unless the only input is the layer before.
  void add_inputs(JsonValue& json, const Network::Layer& layer, std::size_t position) const {
    if (layer.inputs.size() == 1) {
      const auto input = static_cast<std::size_t>(layer.inputs.front());
      if (input + 1 != position) json["input"] = names_[input];
      return;
    }
    for (const int input : layer.inputs) json["inputs"].push_back(names_[static_cast<std::size_t>(input)]);
  }

  const Network& network_;
  int classes_;
  std::vector<std::string> names_;  ///< names of the layers in the file
  std::vector<bool> is_read_;
};

}  // namespace

std::string network_json(const Network& network) {
  try {
    return Writer(network).text();
  } catch (const nlohmann::json::type_error&) {
    throw Error(Category::usage, "the name of a layer is not UTF-8, so a network file cannot contain it");
  }
}

}  // namespace lockstep
