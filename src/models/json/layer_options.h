#pragma once

#include <string>
#include <vector>

#include "core/json/json.h"
#include "graph/operations.h"

namespace lockstep {

/// Reads the options of a layer in a network file by name. Methods throw Error(usage) naming file, line and
/// layer. `document` and its part `layer` must outlive this object.
class LayerOptions {
 public:
  /// `classes`: value of options whose text is the word OperationField::word instead of a number.
  LayerOptions(const JsonDocument& document, const JsonValue& layer, int classes)
      : document_(document), layer_(layer), classes_(classes) {}

  /// Reads an option of an operation. If the option is missing, `value` is unchanged; finish() throws if the
  /// option is required.
  void read(int& value, const OperationField& field);
  void read(double& value, const OperationField& field);
  void read(bool& value, const OperationField& field);
  /// Reads "standard", "zeros", "ones", "he_fan_out", {"normal": deviation} or {"uniform": half width}.
  void read(Initializer& value, const OperationField& field);
  /// Text of 1 to 100 printable characters; empty if there is no such option.
  std::string text(const char* key);
  /// List of at least one text; empty if there is no such option.
  std::vector<std::string> texts(const char* key);
  /// List of layers, not checked; null if there is no such option.
  const JsonValue* layers(const char* key) { return take(key); }

  /// Must be called after reading all options. Throws for a missing required option, and for an unknown
  /// option, suggesting the nearest known name.
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
