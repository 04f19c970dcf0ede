#include "cli/option_value.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/nearest.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

[[noreturn]] void reject(std::string_view text, const std::string& reason) {
  throw Error(Category::usage, fmt::format("{} {}", in_quotes(text), reason));
}

std::string describe(NumberRange range) {
  if (std::isinf(range.min)) return "is out of range: finite numbers";
  if (!std::isinf(range.max)) return fmt::format("is out of range: {} to {}", range.min, range.max);
  if (std::isinf(range.below)) return fmt::format("is out of range: at least {}, finite", range.min);
  return fmt::format("is out of range: at least {}, below {}", range.min, range.below);
}

}  // namespace

double parse_number(std::string_view text, NumberRange range) {
  double value = 0.0;
  const char* end = text.data() + text.size();
  const auto [stop, status] = std::from_chars(text.data(), end, value);
  if (status == std::errc::invalid_argument || stop != end) reject(text, "is not a number");
  const bool inside =
      status == std::errc() && value >= range.min && value < range.below && value <= range.max;
  if (!inside || !std::isfinite(value)) reject(text, describe(range));
  return value;
}

std::vector<double> parse_numbers(std::string_view text, NumberRange range) {
  std::vector<double> values;
  if (text.empty()) return values;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    if (begin == end) reject(text, "has a comma with no number before or after it");
    values.push_back(parse_number(text.substr(begin, end - begin), range));
    begin = end + 1;
  }
  return values;
}

}  // namespace lockstep
