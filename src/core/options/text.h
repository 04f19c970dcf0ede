#pragma once

#include <algorithm>
#include <concepts>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "lockstep/field.h"
#include "lockstep/period.h"
#include "lockstep/shape.h"

/// Conversion of option values to text and back. The conversion is exact: reading a text returns the written
/// value. Reading functions throw Error(usage) with the text in quotes and the reason, without the option's
/// name. A text is the value only, without spaces or trailing characters.
namespace lockstep {

/// Reads a whole number in [min, max] in decimal digits. A long double holds every 64-bit number exactly.
long double parse_integer(std::string_view text, long double min, long double max);

/// Reads a number in decimal notation, "inf" or "nan"; returns NaN for a number outside the range of doubles.
double parse_number(std::string_view text);

/// Position of `text` in `names`. If it is not there, the error lists the names and suggests the nearest.
std::size_t parse_choice(std::string_view text, const Names& names);

/// Bounds of a range for --help, "at least 0, below 1"; empty for the default range.
std::string bounds_text(const Range& range);

std::string value_text(bool value);
std::string value_text(double value);
std::string value_text(const std::string& value);
std::string value_text(const std::vector<double>& values);
std::string value_text(const Names& values);
std::string value_text(const Interval& value);
std::string value_text(const Shape& value);
std::string value_text(const Duration& value);
std::string value_text(const Period& value);
template <std::integral T>
std::string value_text(T value) {
  return std::to_string(value);
}
template <NamedEnum E>
std::string value_text(E value) {
  return name_of(value);
}

void read_value(const std::string& text, const Field& field, bool& value);
void read_value(const std::string& text, const Field& field, double& value);
void read_value(const std::string& text, const Field& field, std::string& value);
void read_value(const std::string& text, const Field& field, std::vector<double>& values);
void read_value(const std::string& text, const Field& field, Names& values);
void read_value(const std::string& text, const Field& field, Interval& value);
void read_value(const std::string& text, const Field& field, Shape& value);
void read_value(const std::string& text, const Field& field, Duration& value);
void read_value(const std::string& text, const Field& field, Period& value);
template <std::integral T>
void read_value(const std::string& text, const Field& field, T& value) {
  using Limits = std::numeric_limits<T>;
  value = static_cast<T>(parse_integer(text, std::max<long double>(Limits::min(), field.range.min),
                                       std::min<long double>(Limits::max(), field.range.max)));
}
template <NamedEnum E>
void read_value(const std::string& text, const Field& /*field*/, E& value) {
  value = static_cast<E>(parse_choice(text, choices_of(E{})));
}

/// Types whose value 0 may have a special text (Field::zero).
template <class T>
concept HasZero =
    (std::integral<T> && !std::same_as<T, bool>) || std::same_as<T, Duration> || std::same_as<T, Period>;

/// Types whose value may be computed from the training samples (Field::by_data).
template <class T>
concept HasByData = std::same_as<T, int> || std::same_as<T, double> || std::same_as<T, std::vector<double>>;
/// Text of a value that is computed from the training samples.
inline constexpr const char* by_data_text = "auto";

/// Text of `value` as users write it.
template <class T>
std::string to_text(const T& value, const Field& field) {
  if constexpr (HasByData<T>) {
    if (*field.by_data != '\0' && value == by_data<T>) return by_data_text;
  }
  if constexpr (std::same_as<T, bool>) {
    if (field.choices != nullptr) return field.choices().at(value ? 0 : 1);
  } else if constexpr (HasZero<T>) {
    if (*field.zero != '\0' && value == T{}) return field.zero;
  }
  return value_text(value);
}

/// Reads and checks a value as users write it. If that throws, `value` is unchanged.
template <class T>
void from_text(const std::string& text, const Field& field, T& value) {
  if (field.choices != nullptr) {
    const std::size_t position = parse_choice(text, field.choices());
    if constexpr (std::same_as<T, bool>) {
      value = position == 0;
      return;
    }
  }
  if (field.check != nullptr) field.check(text);
  if constexpr (HasByData<T>) {
    if (*field.by_data != '\0' && text == by_data_text) {
      value = by_data<T>;
      return;
    }
  }
  if constexpr (HasZero<T>) {
    if (*field.zero != '\0' && text == field.zero) {
      value = T{};
      return;
    }
  }
  read_value(text, field, value);
}

/// Placeholder in --help for a value of type T; empty for switches and options whose choices are listed.
template <class T>
std::string placeholder_of(const T& /*value*/, const Field& field) {
  if (*field.placeholder != '\0') return field.placeholder;
  if (field.choices != nullptr || std::same_as<T, bool> || NamedEnum<T>) return "";
  const std::string more = *field.by_data != '\0' ? std::string("|") + by_data_text : "";
  if constexpr (HasZero<T>) {
    const std::string type = std::integral<T> ? "N" : std::same_as<T, Duration> ? "TIME" : "N|TIME";
    return (*field.zero != '\0' ? type + "|" + field.zero : type) + more;
  } else if constexpr (std::same_as<T, double>) {
    return "X" + more;
  } else if constexpr (std::same_as<T, std::vector<double>>) {
    return (field.named != nullptr ? "X,X,...|NAME" : "X,X,...") + more;
  } else if constexpr (std::same_as<T, Names>) {
    return "NAME,...";
  } else if constexpr (std::same_as<T, Interval>) {
    return "MIN,MAX";
  } else if constexpr (std::same_as<T, Shape>) {
    return "CxHxW";
  } else {
    return "NAME";
  }
}

}  // namespace lockstep
