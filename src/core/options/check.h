#pragma once

#include <string>
#include <vector>

#include "core/options/text.h"
#include "lockstep/error.h"
#include "lockstep/field.h"

namespace lockstep {

/// An option's description, with its value and its default as text.
struct OptionText {
  Field field;
  std::string value;
  std::string default_value;

  bool is_default() const { return value == default_value; }
};

/// All options of a struct, in the order of `visit`.
template <class Options>
std::vector<OptionText> texts_of(const Options& options) {
  std::vector<OptionText> texts;
  visit(options, [&](const auto& value, const Field& field) {
    texts.push_back({.field = field, .value = to_text(value, field), .default_value = {}});
  });
  const Options defaults{};
  std::size_t i = 0;
  visit(defaults,
        [&](const auto& value, const Field& field) { texts[i++].default_value = to_text(value, field); });
  return texts;
}

/// Whether the option of `text` can affect the run: its requirements hold, and the option `device` is "auto"
/// or the device that this option is for. Requirements on options that are not in `texts` count as met.
bool has_effect(const std::vector<OptionText>& texts, const OptionText& text);

/// Whether the option of `text`, if it has an effect, affects the trained bits: because of its scope, or with
/// the current values of other options (Field::result_with).
bool affects_result(const std::vector<OptionText>& texts, const OptionText& text);

/// Throws Error(usage) for an option that has a non-default value and an unmet requirement, naming both.
/// Requirements on options that are not in `texts` count as met.
void check_needs(const std::vector<OptionText>& texts);

/// Throws Error(usage), with the option as its field, for a value that is out of range or has no effect.
template <class Options>
void check_fields(const Options& options) {
  visit(options, [](auto value, const Field& field) {
    try {  // a value is valid if its text can be read back
      from_text(to_text(value, field), field, value);
    } catch (const Error& error) {
      throw Error(error.category(), error.what(), field.name);
    }
  });
  check_needs(texts_of(options));
}

/// A name and a value that are compared between ranks.
struct Line {
  std::string name;
  std::string value;

  bool operator==(const Line&) const = default;
};

/// Values of the Line of an option that names a file: ranks compare only whether the option is given.
inline constexpr const char* option_given = "given";
inline constexpr const char* option_not_given = "not given";

/// Lines that must be equal on all ranks: all options except local ones; for a file, only whether it is
/// given.
std::vector<Line> lines_to_compare(const std::vector<OptionText>& texts);
template <class Options>
std::vector<Line> lines_to_compare(const Options& options) {
  return lines_to_compare(texts_of(options));
}

}  // namespace lockstep
