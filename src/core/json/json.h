#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "lockstep/checkpoint.h"
#include "lockstep/error.h"
#include "lockstep/field.h"

namespace lockstep {

/// Value of a JSON text; an object keeps the order of its members.
using JsonValue = nlohmann::ordered_json;

/// Origin of a JSON text, for error messages.
struct JsonSource {
  std::string file;
  Category category = Category::data;
  std::size_t first_byte = 0;  ///< position of the text in a binary file, for messages that give bytes
                               ///< instead of lines; 0: whole file
  bool is_message = false;     ///< written by json_message, so a string may be a list of bytes
};

/// Struct whose members `visit` describes.
template <class T>
concept Described = std::is_class_v<T> && requires(T value) {
  visit(value, [](auto&, const Field&) {});
};

/// A JSON text, parsed strictly. Throws Error with the source's category, the file, the line or byte, and the
/// reason for invalid JSON, repeated keys, nesting deeper than 32 levels and more than 4 Mi values. Memory is
/// proportional to the length of the text, which callers must limit.
class JsonDocument {
 public:
  JsonDocument(std::string_view text, JsonSource source);

  const JsonValue& root() const { return root_; }
  /// Throws Error "FILE:LINE: PATH: REASON" about `value`, which must be part of this document; PATH locates
  /// the value, as in "layers[3].kernel". refuse_line omits PATH, for a reason that already names the place.
  [[noreturn]] void refuse(const JsonValue& value, const std::string& reason) const;
  [[noreturn]] void refuse_line(const JsonValue& value, const std::string& reason) const;

  /// Functions that read `value`, which must be part of this document. They refuse other types, numbers
  /// outside the member's type, negative whole numbers, and missing or unknown keys of a described struct.
  void read(const JsonValue& value, std::string& text) const;
  void read(const JsonValue& value, bool& choice) const;
  void read(const JsonValue& value, double& number) const;
  void read(const JsonValue& value, Facts& facts) const;
  /// Reads what json_of_bytes wrote.
  void read_bytes(const JsonValue& value, std::string& bytes) const;
  template <std::integral T>
  void read(const JsonValue& value, T& number) const {
    number = static_cast<T>(whole_number(value, static_cast<std::uint64_t>(std::numeric_limits<T>::max())));
  }
  template <class T>
  void read(const JsonValue& value, std::vector<T>& list) const {
    if (!value.is_array()) refuse(value, "must be a list");
    for (const JsonValue& item : value) read(item, list.emplace_back());
  }
  template <Described T>
  void read(const JsonValue& value, T& result) const {
    check_object(value);
    std::vector<std::string_view> known;
    visit(result, [&](auto& member, const Field& field) {
      known.emplace_back(field.name);
      const auto found = value.find(field.name);
      if (found == value.end()) refuse(value, std::string(field.name) + " is missing");
      read(*found, member);
    });
    for (const auto& [key, member] : value.items()) {
      if (std::ranges::find(known, key) == known.end()) refuse(member, "unknown key");
    }
  }

  void check_object(const JsonValue& value) const;

 private:
  class Builder;

  std::uint64_t whole_number(const JsonValue& value, std::uint64_t max) const;
  [[noreturn]] void fail(int line, const std::string& path, const std::string& reason) const;

  JsonSource source_;
  JsonValue root_;
  std::vector<int> lines_;  ///< line of each value, in the order in which values begin
};

/// JSON on one line, or indented by `indent` columns per level. Bytes that are not UTF-8 are replaced.
inline std::string json_text(const JsonValue& json, int indent = -1) {
  return json.dump(indent, ' ', false, JsonValue::error_handler_t::replace);
}
/// JSON in ASCII, on one line, for another process of lockstep. Strings are written as json_of_bytes does.
std::string json_message(JsonValue json);

/// String, or a list of bytes if `bytes` is not UTF-8, as some file names are not.
JsonValue json_of_bytes(const std::string& bytes);
/// Object of strings. A string that is not UTF-8 (file names may hold any bytes) becomes a list of its bytes.
/// Throws Error(internal) for a repeated name.
JsonValue json_of(const Facts& facts);
template <class T>
JsonValue json_of(const T& value);
/// null if `value` is empty.
template <class T>
JsonValue json_of(const std::optional<T>& value) {
  return value ? json_of(*value) : JsonValue();
}
template <class T>
JsonValue json_of(const std::vector<T>& list) {
  JsonValue array = JsonValue::array();
  for (const T& item : list) array.push_back(json_of(item));
  return array;
}
/// Object for a described struct, name for an enumeration, else `value` as a number or string.
/// JsonDocument::read reads it back, except enumerations.
template <class T>
JsonValue json_of(const T& value) {
  if constexpr (Described<T>) {
    JsonValue object = JsonValue::object();
    visit(value, [&](const auto& member, const Field& field) { object[field.name] = json_of(member); });
    return object;
  } else if constexpr (NamedEnum<T>) {
    return name_of(value);
  } else {
    return value;
  }
}

}  // namespace lockstep
