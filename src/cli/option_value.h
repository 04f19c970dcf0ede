#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/options/text.h"

namespace lockstep {

/// Text of an option's value to the value. All throw Error(usage) with the value in quotes and the reason,
/// without the option's name, which the caller puts before it. The whole text must be the value: no spaces,
/// no trailing characters.

/// Bounds of a real number: min <= x < below, x <= max. The default admits every finite number that is not
/// negative.
struct NumberRange {
  double min = 0.0;
  double below = std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
};
/// Decimal notation, exponent allowed; never NaN or infinite.
double parse_number(std::string_view text, NumberRange range);

/// Numbers with commas between them, each in `range`; none of them is empty, unless `text` is.
std::vector<double> parse_numbers(std::string_view text, NumberRange range);

}  // namespace lockstep
