#pragma once

#include <string>
#include <vector>

#include "core/json/json.h"
#include "graph/operations.h"

namespace lockstep {

/// Options of a layer in a network file, each read by name. Functions throw Error(usage) with file, line and
/// layer. `document` and its part `layer` must outlive the object.
class LayerOptions {
 public:
  /// `classes`: value of OperationField::word.
  LayerOptions(const JsonDocument& document, const JsonValue& layer, int classes)
      : document_(document), layer_(layer), classes_(classes) {}

  /// Reads an option of an operation. A missing one keeps its value; finish() refuses it if it is required.
  void read(int& value, const OperationField& field);
  void read(double& value, const OperationField& field);
  void read(bool& value, const OperationField& field);
  /// "standard", "zeros", "ones", "he_fan_out", {"normal": deviation} or {"uniform": half width}.
  void read(Initializer& value, const OperationField& field);
  /// Text of 1 to 100 printable characters. Empty: no such option.
  std::string text(const char* key);
  /// List of at least one text. Empty: no such option.
  std::vector<std::string> texts(const char* key);
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
  int classes_;
  std::vector<std::string> known_;
  std::string missing_;
};

}  // namespace lockstep
