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

std::string describe(IntegerRange range) {
  if (range.most == std::numeric_limits<std::uint64_t>::max()) {
    return fmt::format("is out of range: at least {}", range.least);
  }
  return fmt::format("is out of range: {} to {}", range.least, range.most);
}

std::string describe(NumberRange range) {
  if (std::isinf(range.least)) return "is out of range: finite numbers";
  if (!std::isinf(range.most)) return fmt::format("is out of range: {} to {}", range.least, range.most);
  if (std::isinf(range.below)) return fmt::format("is out of range: at least {}, finite", range.least);
  return fmt::format("is out of range: at least {}, below {}", range.least, range.below);
}

bool holds(IntegerRange range, ParsedInteger value) {
  if (value.negative && value.magnitude > 0) {
    // -(least + 1) cannot overflow, unlike -least.
    return range.least < 0 && value.magnitude - 1 <= static_cast<std::uint64_t>(-(range.least + 1));
  }
  return std::cmp_greater_equal(value.magnitude, range.least) && value.magnitude <= range.most;
}

}  // namespace

ParsedInteger parse_integer(std::string_view text, IntegerRange range) {
  ParsedInteger value;
  value.negative = text.starts_with('-');
  const std::string_view digits = text.substr(value.negative ? 1 : 0);
  const char* end = digits.data() + digits.size();
  const auto [stop, status] = std::from_chars(digits.data(), end, value.magnitude);
  if (status == std::errc::invalid_argument || stop != end) reject(text, "is not a whole number");
  if (status == std::errc::result_out_of_range || !holds(range, value)) reject(text, describe(range));
  return value;
}

double parse_number(std::string_view text, NumberRange range) {
  double value = 0.0;
  const char* end = text.data() + text.size();
  const auto [stop, status] = std::from_chars(text.data(), end, value);
  if (status == std::errc::invalid_argument || stop != end) reject(text, "is not a number");
  const bool inside =
      status == std::errc() && value >= range.least && value < range.below && value <= range.most;
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

bool parse_flag(std::string_view text) {
  static const std::vector<std::string> words = {"true", "false", "yes", "no", "on", "off", "1", "0"};
  const auto found = std::find(words.begin(), words.end(), text);
  if (found == words.end()) reject(text, "is neither true nor false");
  return (found - words.begin()) % 2 == 0;
}

std::size_t parse_choice(std::string_view text, const std::vector<std::string>& names) {
  const auto found = std::find(names.begin(), names.end(), text);
  if (found == names.end()) {
    reject(text, fmt::format("is not one of {}{}", fmt::join(names, ", "), suggestion(text, names)));
  }
  return static_cast<std::size_t>(found - names.begin());
}

std::string in_quotes(std::string_view text) {
  std::string result = "'";
  for (const char c : text) result += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  return result + "'";
}

std::string suggestion(std::string_view name, const std::vector<std::string>& known,
                       std::string_view prefix) {
  const std::string best = nearest(name, known);
  if (best.empty()) return "";
  return fmt::format("; did you mean {}{}?", prefix, best);
}

}  // namespace lockstep
