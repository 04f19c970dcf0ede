#include "models/json/layer_options.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/text/nearest.h"
#include "core/text/printable.h"
#include "graph/operations.h"

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

int LayerOptions::integer(const char* key, int min, int max) {
  if (!layer_.contains(key) && missing_.empty()) {
    missing_ = key;
  }
  return integer(key, min, max, min);
}

int LayerOptions::integer(const char* key, int min, int max, int fallback) {
  const JsonValue* value = take(key, &JsonValue::is_number_integer, "a whole number");
  if (value == nullptr) {
    return fallback;
  }
  if (*value < min || *value > max) {
    refuse_at(*value, fmt::format("{} must be from {} to {}, not {}", key, min, max, value->dump()));
  }
  return value->get<int>();
}

int LayerOptions::integer_or(const char* key, int min, int max, std::string_view word, int value_of_word) {
  const JsonValue* value = take(key);
  if (value != nullptr && *value == word) {
    return value_of_word;
  }
  if (value != nullptr && !value->is_number_integer()) {
    refuse_at(*value, fmt::format("{} must be a whole number or \"{}\"", key, word));
  }
  return integer(key, min, max);
}

double LayerOptions::number(const char* key, double fallback) {
  const JsonValue* value = take(key, &JsonValue::is_number, "a number");
  return value == nullptr ? fallback : value->get<double>();
}

bool LayerOptions::flag(const char* key, bool fallback) {
  const JsonValue* value = take(key, &JsonValue::is_boolean, "true or false");
  return value == nullptr ? fallback : value->get<bool>();
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

Initializer LayerOptions::initializer(const char* key, const Initializer& fallback) {
  const JsonValue* value = take(key);
  if (value == nullptr) return fallback;
  const Names kinds = choices_of(Initializer::Kind{});
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const auto kind = static_cast<Initializer::Kind>(i);
    if (!has_scale(kind)) {
      if (*value == kinds[i]) return {.kind = kind};
    } else if (value->is_object() && value->size() == 1 && value->contains(kinds[i]) &&
               value->front().is_number() && value->front() >= 0) {
      return {.kind = kind, .scale = value->front().get<double>()};
    }
  }
  refuse_at(*value, fmt::format("{} must be \"standard\", \"zeros\", \"ones\", \"he_fan_out\", {{\"normal\": "
                                "DEVIATION}} or {{\"uniform\": HALF_WIDTH}}",
                                key));
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
