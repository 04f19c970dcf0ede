#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lockstep {

/// Text of an option's value to the value. All throw Error(usage) with the value in quotes and the reason,
/// without the option's name, which the caller puts before it. The whole text must be the value: no spaces,
/// no trailing characters.

/// Bounds of a whole number, both included.
struct IntegerRange {
  std::int64_t least = 0;
  std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
};

/// Magnitude and sign of a whole number in `range`, decimal digits only.
struct ParsedInteger {
  std::uint64_t magnitude = 0;
  bool negative = false;
};
ParsedInteger parse_integer(std::string_view text, IntegerRange range);

/// Bounds of a real number: least <= x < below, x <= most. The default admits every finite number that is not
/// negative.
struct NumberRange {
  double least = 0.0;
  double below = std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
};
/// Decimal notation, exponent allowed; never NaN or infinite.
double parse_number(std::string_view text, NumberRange range);

/// Numbers with commas between them, each in `range`; none of them is empty, unless `text` is.
std::vector<double> parse_numbers(std::string_view text, NumberRange range);

/// true, yes, on, 1 / false, no, off, 0.
bool parse_flag(std::string_view text);

/// Position of `text` in `names`. The error lists the names and the nearest one.
std::size_t parse_choice(std::string_view text, const std::vector<std::string>& names);

/// `text` in single quotes, control characters replaced: messages stay on one line.
std::string in_quotes(std::string_view text);

/// "; did you mean X?" with the nearest of `known`, or nothing when none is near.
std::string suggestion(std::string_view name, const std::vector<std::string>& known,
                       std::string_view prefix = "");

}  // namespace lockstep
