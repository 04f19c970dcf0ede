#include "models/json/layer_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/text/nearest.h"
#include "core/text/printable.h"

namespace lockstep {
namespace {

/// Operation and name of a layer, if present: "conv2d 'stem'".
std::string label(const JsonValue& layer) {
  const auto text_of = [&](const char* key) {
    const auto value = layer.find(key);
    return value != layer.end() && value->is_string() ? printable(value->get<std::string>()) : std::string();
  };
  const std::string name = text_of("name");
  std::string label = text_of("op");
  if (label.empty()) label = "layer";
  return name.empty() ? label : fmt::format("{} '{}'", label, name);
}

/// Initializer that `value` describes; nullopt if it is not an initializer.
std::optional<Initializer> initializer_of(const JsonValue& value) {
  const Names kinds = choices_of(Initializer::Kind{});
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const auto kind = static_cast<Initializer::Kind>(i);
    if (!has_scale(kind)) {
      if (value == kinds[i]) return Initializer{.kind = kind};
    } else if (value.is_object() && value.size() == 1 && value.contains(kinds[i]) &&
               value.front().is_number() && value.front() >= 0) {
      return Initializer{.kind = kind, .scale = value.front().get<double>()};
    }
  }
  return std::nullopt;
}

}  // namespace

void LayerOptions::refuse_at(const JsonValue& value, const std::string& reason) const {
  document_.refuse_line(value, fmt::format("{}: {}", label(layer_), reason));
}

const JsonValue* LayerOptions::take(const char* key) {
  if (std::find(known_.begin(), known_.end(), key) == known_.end()) {
    known_.emplace_back(key);
  }
  const auto found = layer_.find(key);
  return found == layer_.end() ? nullptr : &*found;
}

const JsonValue* LayerOptions::take(const char* key, bool (JsonValue::*is_type)() const noexcept,
                                    const char* type) {
  const JsonValue* value = take(key);
  if (value != nullptr && !(value->*is_type)()) {
    refuse_at(*value, fmt::format("{} must be {}", key, type));
  }
  return value;
}

void LayerOptions::read(int& value, const OperationField& field) {
  const JsonValue* found = take(field.name);
  if (found == nullptr) {
    if (field.required && missing_.empty()) missing_ = field.name;
    return;
  }
  if (field.word != nullptr && *found == field.word) {
    value = classes_;
    return;
  }
  if (!found->is_number_integer()) {
    const std::string word = field.word == nullptr ? "" : fmt::format(" or \"{}\"", field.word);
    refuse_at(*found, fmt::format("{} must be a whole number{}", field.name, word));
  }
  if (*found < field.min || *found > field.max) {
    refuse_at(*found, fmt::format("{} must be from {} to {}, not {}", field.name, field.min, field.max,
                                  found->dump()));
  }
  value = found->get<int>();
}

void LayerOptions::read(double& value, const OperationField& field) {
  const JsonValue* found = take(field.name, &JsonValue::is_number, "a number");
  if (found != nullptr) value = found->get<double>();
}

void LayerOptions::read(bool& value, const OperationField& field) {
  const JsonValue* found = take(field.name, &JsonValue::is_boolean, "true or false");
  if (found != nullptr) value = found->get<bool>();
}

void LayerOptions::read(Initializer& value, const OperationField& field) {
  const JsonValue* found = take(field.name);
  if (found == nullptr) return;
  const std::optional<Initializer> initializer = initializer_of(*found);
  if (!initializer) {
    refuse_at(*found,
              fmt::format("{} must be \"standard\", \"zeros\", \"ones\", \"he_fan_out\", {{\"normal\": "
                          "DEVIATION}} or {{\"uniform\": HALF_WIDTH}}",
                          field.name));
  }
  value = *initializer;
}

std::string LayerOptions::text(const char* key) {
  const JsonValue* value = take(key, &JsonValue::is_string, "a text");
  if (value == nullptr) {
    return "";
  }
  const auto& text = value->get_ref<const std::string&>();
  if (text.empty() || printable(text) != text) {
    refuse_at(*value, fmt::format("{} must have 1 to 100 printable characters", key));
  }
  return text;
}

std::vector<std::string> LayerOptions::texts(const char* key) {
  std::vector<std::string> texts;
  const JsonValue* list = take(key, &JsonValue::is_array, "a list of names");
  if (list == nullptr) {
    return texts;
  }
  const auto is_text = [](const JsonValue& value) { return value.is_string(); };
  if (list->empty() || !std::all_of(list->begin(), list->end(), is_text)) {
    refuse_at(*list, fmt::format("{} must be a list of names", key));
  }
  for (const JsonValue& value : *list) texts.push_back(value);
  return texts;
}

void LayerOptions::finish() const {
  for (const auto& [key, value] : layer_.items()) {
    if (std::find(known_.begin(), known_.end(), key) == known_.end()) {
      refuse_at(value, unknown_name("option", key, known_));
    }
  }
  if (!missing_.empty()) {
    refuse(missing_ + " is missing");
  }
}

}  // namespace lockstep
