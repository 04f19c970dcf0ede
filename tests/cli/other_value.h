#pragma once

#include <algorithm>
#include <cctype>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/options/check.h"
#include "lockstep/error.h"
#include "run/tensorboard/event_records.h"

/// Non-default values for every option of a struct.
namespace lockstep::test {

inline std::string other_text(bool value, const Field& field) {
  if (field.choices != nullptr) return field.choices().at(value ? 1 : 0);
  return value ? "false" : "true";
}
template <std::integral T>
std::string other_text(T value, const Field& field) {
  if (field.choices != nullptr) return field.choices().back();
  if (value == 0) return "2";
  const T half = value / 2;
  return static_cast<double>(half) >= std::max(1.0, field.range.min) ? std::to_string(half)
                                                                     : std::to_string(value + 1);
}
inline std::string other_text(double value, const Field& /*field*/) {
  return value_text(value == 0.0 ? 0.25 : value / 2.0);
}
inline std::string other_text(const std::string& value, const Field& field) {
  const std::string name = field.name;
  if (name == "model") return "mlp";
  if (name == "randaugment") return "rand-m9-n2";
  if (field.choices == nullptr) return "other";
  const Names choices = field.choices();
  return *std::ranges::find_if(choices, [&](const std::string& choice) { return choice != value; });
}
inline std::string other_text(const std::vector<double>&, const Field&) { return "0.5"; }
inline std::string other_text(const Names&, const Field&) { return "conv1"; }
inline std::string other_text(const Interval&, const Field&) { return "0.5,0.9"; }
inline std::string other_text(const Shape&, const Field&) { return "1x28x28"; }
inline std::string other_text(const Duration&, const Field&) { return "2h"; }
inline std::string other_text(const Period& value, const Field&) { return value.steps == 7 ? "8" : "7"; }
template <NamedEnum E>
std::string other_text(E value, const Field&) {
  return choices_of(value).at(value == E{} ? 1 : 0);
}

/// Environment variable that sets an option.
inline std::string variable_of(const std::string& option) {
  std::string variable = "LOCKSTEP_";
  for (const char c : option) variable += c == '-' ? '_' : static_cast<char>(std::toupper(c));
  return variable;
}

/// Whether this build, which may lack protobuf, has the option.
inline bool is_in_this_build(const std::string& option) {
  try {
    if (option == "tensorboard") tensorboard::check_available();
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// Names and values to set: first the options that an option requires, then the option itself.
using Settings = std::vector<std::pair<std::string, std::string>>;

/// Settings for all options that users can set, by option name.
template <class Options>
std::map<std::string, Settings> other_values(const Options& defaults = {}) {
  std::map<std::string, std::pair<Field, std::string>> fields;
  visit(defaults, [&](const auto& value, const Field& field) {
    if (field.visible) fields[field.name] = {field, other_text(value, field)};
  });
  std::map<std::string, Settings> result;
  for (const auto& [name, entry] : fields) {
    const auto& [field, value] = entry;
    for (const auto& [option, values] : field.needs) {
      result[name].emplace_back(option, values.empty() ? fields.at(option).second : values.front());
    }
    result[name].emplace_back(name, value);
  }
  return result;
}

}  // namespace lockstep::test
