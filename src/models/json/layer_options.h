#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lockstep/network.h"
#include "models/json/json_document.h"

namespace lockstep {

/// The options of one layer in a network file, taken one by one. Errors are Error(usage) with file, line and
/// layer. The JSON outlives it.
class LayerOptions {
 public:
  LayerOptions(const JsonValue& layer, std::string file) : layer_(layer), file_(std::move(file)) {}

  /// Whole number in [min, max]; without a `fallback` it must be there, which finish() checks.
  int integer(const char* key, int min, int max);
  int integer(const char* key, int min, int max, int fallback);
  /// The same without a `fallback`, or `word`, which stands for `value_of_word`.
  int integer_or(const char* key, int min, int max, std::string_view word, int value_of_word);
  double number(const char* key, double fallback);
  bool flag(const char* key, bool fallback);
  /// Text that is not empty; empty where there is none.
  std::string text(const char* key);
  std::vector<std::string> texts(const char* key);
  /// "standard", "zeros", "ones", "he_fan_out", {"normal": deviation} or {"uniform": half width}.
  Initializer initializer(const char* key, const Initializer& fallback);
  /// A list of layers; null where there is none.
  const JsonValue* layers(const char* key) { return take(key); }

  /// After the last option was taken: refuses those left over, naming the nearest known, and missing ones.
  void finish() const;

  /// Throws Error(usage): file, line of the layer, its operation and name, `reason`.
  [[noreturn]] void refuse(const std::string& reason) const { refuse_at(layer_.line, reason); }

 private:
  const JsonValue* take(const char* key);
  const JsonValue* take(const char* key, JsonValue::Kind kind, const char* wanted);
  /// Whether the value of `key` is this text.
  bool is_word(const char* key, std::string_view word);
  [[noreturn]] void refuse_at(int line, const std::string& reason) const;

  const JsonValue& layer_;
  std::string file_;
  std::vector<std::string> known_;
  std::string missing_;
};

}  // namespace lockstep
