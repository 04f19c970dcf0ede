#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

/// A value of a JSON text, with its line.
struct JsonValue {
  enum class Kind { null, boolean, integer, real, text, list, object } kind = Kind::null;
  int line = 1;
  bool boolean = false;
  std::int64_t integer = 0;
  double real = 0.0;  ///< also set for integers
  std::string text{};
  std::vector<JsonValue> items{};   ///< of a list, or the values of an object
  std::vector<std::string> keys{};  ///< of an object, one per item

  /// Value of `key`; null: no such key, or not an object.
  const JsonValue* find(std::string_view key) const;
};

/// Parses text of at most 1 MiB, nested at most 32 deep. Throws Error(usage) with `origin` (the file), line
/// and reason for invalid JSON, duplicate keys, more than 64 keys in an object, and numbers beyond 64 bits.
JsonValue parse_json(std::string_view text, const std::string& origin);

}  // namespace lockstep
