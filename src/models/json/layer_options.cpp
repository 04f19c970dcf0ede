#include "models/json/layer_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/nearest.h"
#include "core/printable.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

/// Operation and name of a layer, if present: "conv2d 'stem'".
std::string label(const JsonValue& layer) {
  const auto text_of = [&](const char* key) {
    const JsonValue* value = layer.find(key);
    return value != nullptr && value->kind == JsonValue::Kind::text ? printable(value->text) : std::string();
  };
  const std::string name = text_of("name");
  std::string label = text_of("op");
  if (label.empty()) label = "layer";
  return name.empty() ? label : fmt::format("{} '{}'", label, name);
}

bool is_number(const JsonValue& value) {
  return value.kind == JsonValue::Kind::integer || value.kind == JsonValue::Kind::real;
}

}  // namespace

void LayerOptions::refuse_at(int line, const std::string& reason) const {
  throw Error(Category::usage, fmt::format("{}:{}: {}: {}", file_, line, label(layer_), reason));
}

const JsonValue* LayerOptions::take(const char* key) {
  if (std::find(known_.begin(), known_.end(), key) == known_.end()) {
    known_.emplace_back(key);
  }
  return layer_.find(key);
}

const JsonValue* LayerOptions::take(const char* key, JsonValue::Kind kind, const char* wanted) {
  const JsonValue* value = take(key);
  if (value != nullptr && value->kind != kind) {
    refuse_at(value->line, fmt::format("{} must be {}", key, wanted));
  }
  return value;
}

int LayerOptions::integer(const char* key, int min, int max) {
  if (layer_.find(key) == nullptr && missing_.empty()) {
    missing_ = key;
  }
  return integer(key, min, max, min);
}

int LayerOptions::integer(const char* key, int min, int max, int fallback) {
  const JsonValue* value = take(key, JsonValue::Kind::integer, "a whole number");
  if (value == nullptr) {
    return fallback;
  }
  if (value->integer < min || value->integer > max) {
    refuse_at(value->line, fmt::format("{} must be from {} to {}, not {}", key, min, max, value->integer));
  }
  return static_cast<int>(value->integer);
}

int LayerOptions::integer_or(const char* key, int min, int max, std::string_view word, int value_of_word) {
  if (is_word(key, word)) {
    return value_of_word;
  }
  const JsonValue* value = take(key);
  if (value != nullptr && value->kind != JsonValue::Kind::integer) {
    refuse_at(value->line, fmt::format("{} must be a whole number or \"{}\"", key, word));
  }
  return integer(key, min, max);
}

double LayerOptions::number(const char* key, double fallback) {
  const JsonValue* value = take(key);
  if (value == nullptr) {
    return fallback;
  }
  if (!is_number(*value)) {
    refuse_at(value->line, fmt::format("{} must be a number", key));
  }
  return value->real;
}

bool LayerOptions::flag(const char* key, bool fallback) {
  const JsonValue* value = take(key, JsonValue::Kind::boolean, "true or false");
  return value == nullptr ? fallback : value->boolean;
}

std::string LayerOptions::text(const char* key) {
  const JsonValue* value = take(key, JsonValue::Kind::text, "a text");
  if (value == nullptr) {
    return "";
  }
  if (value->text.empty() || printable(value->text) != value->text) {
    refuse_at(value->line, fmt::format("{} must have 1 to 100 printable characters", key));
  }
  return value->text;
}

std::vector<std::string> LayerOptions::texts(const char* key) {
  std::vector<std::string> texts;
  const JsonValue* list = take(key, JsonValue::Kind::list, "a list of names");
  if (list == nullptr) {
    return texts;
  }
  for (const JsonValue& value : list->items) {
    if (value.kind != JsonValue::Kind::text) {
      refuse_at(list->line, fmt::format("{} must be a list of names", key));
    }
    texts.push_back(value.text);
  }
  return texts;
}

bool LayerOptions::is_word(const char* key, std::string_view word) {
  const JsonValue* value = take(key);
  return value != nullptr && value->kind == JsonValue::Kind::text && value->text == word;
}

Initializer LayerOptions::initializer(const char* key, const Initializer& fallback) {
  const JsonValue* value = take(key);
  if (value == nullptr) return fallback;
  if (is_word(key, "standard")) return Initializer::standard();
  if (is_word(key, "zeros")) return Initializer::zeros();
  if (is_word(key, "ones")) return Initializer::ones();
  if (is_word(key, "he_fan_out")) return Initializer::he_fan_out();
  if (value->kind == JsonValue::Kind::object && value->items.size() == 1 && is_number(value->items[0]) &&
      value->items[0].real >= 0.0) {
    if (value->keys[0] == "normal") return Initializer::normal(value->items[0].real);
    if (value->keys[0] == "uniform") return Initializer::uniform(value->items[0].real);
  }
  refuse_at(value->line,
            fmt::format("{} must be \"standard\", \"zeros\", \"ones\", \"he_fan_out\", {{\"normal\": "
                        "DEVIATION}} or {{\"uniform\": HALF_WIDTH}}",
                        key));
}

void LayerOptions::finish() const {
  for (const std::string& key : layer_.keys) {
    if (std::find(known_.begin(), known_.end(), key) == known_.end()) {
      refuse_at(layer_.find(key)->line, unknown_name("option", key, known_));
    }
  }
  if (!missing_.empty()) {
    refuse(missing_ + " is missing");
  }
}

}  // namespace lockstep
