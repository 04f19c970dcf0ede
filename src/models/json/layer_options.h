#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/json/json.h"
#include "lockstep/network.h"

namespace lockstep {

/// Options of a layer in a network file, each read by name. Functions throw Error(usage) with file, line and
/// layer. `document` and its part `layer` must outlive the object.
class LayerOptions {
 public:
  LayerOptions(const JsonDocument& document, const JsonValue& layer) : document_(document), layer_(layer) {}

  /// Whole number in [min, max]. Required if there is no `fallback`, which finish() checks.
  int integer(const char* key, int min, int max);
  int integer(const char* key, int min, int max, int fallback);
  /// Required whole number in [min, max], or `word`, which stands for `value_of_word`.
  int integer_or(const char* key, int min, int max, std::string_view word, int value_of_word);
  double number(const char* key, double fallback);
  bool flag(const char* key, bool fallback);
  /// Text of 1 to 100 printable characters. Empty: no such option.
  std::string text(const char* key);
  /// List of at least one text. Empty: no such option.
  std::vector<std::string> texts(const char* key);
  /// "standard", "zeros", "ones", "he_fan_out", {"normal": deviation} or {"uniform": half width}.
  Initializer initializer(const char* key, const Initializer& fallback);
  /// A list of layers; null: no such option.
  const JsonValue* layers(const char* key) { return take(key); }

  /// Call after reading all options. Refuses missing options, and unknown options with the nearest known
  /// name.
  void finish() const;

  /// Throws Error(usage) with file, line of the layer, its operation and name, and `reason`.
  [[noreturn]] void refuse(const std::string& reason) const { refuse_at(layer_, reason); }

 private:
  const JsonValue* take(const char* key);
  const JsonValue* take(const char* key, bool (JsonValue::*is_type)() const noexcept, const char* type);
  [[noreturn]] void refuse_at(const JsonValue& value, const std::string& reason) const;

  const JsonDocument& document_;
  const JsonValue& layer_;
  std::vector<std::string> known_;
  std::string missing_;
};

}  // namespace lockstep
