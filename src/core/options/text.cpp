#include "core/options/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>

#include "core/text/nearest.h"
#include "core/text/printable.h"
#include "core/text/split.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

[[noreturn]] void reject(std::string_view text, const std::string& reason) {
  throw Error(Category::usage, fmt::format("{} {}", in_quotes(text), reason));
}

Names bounds_of(const Range& range) {
  const bool above = std::isfinite(range.above), below = std::isfinite(range.below);
  const bool min = !above && std::isfinite(range.min), max = std::isfinite(range.max);
  if (min && max) return {fmt::format("{} to {}", range.min, range.max)};
  Names bounds;
  if (above) bounds.push_back(fmt::format("above {}", range.above));
  if (min) bounds.push_back(fmt::format("at least {}", range.min));
  if (max) bounds.push_back(fmt::format("at most {}", range.max));
  if (below) bounds.push_back(fmt::format("below {}", range.below));
  return bounds;
}

std::string describe(const Range& range) {
  Names bounds = bounds_of(range);
  if (!std::isfinite(range.max) && !std::isfinite(range.below)) {
    bounds.emplace_back(bounds.empty() ? "finite numbers" : "finite");
  }
  return fmt::format("is out of range: {}", fmt::join(bounds, ", "));
}

/// Reads decimal notation, exponent allowed; NaN if the number is outside the range of doubles; nullopt if
/// `text` is not a number.
std::optional<double> find_number(std::string_view text) {
  double value = 0.0;
  const char* end = text.data() + text.size();
  const auto [stop, status] = std::from_chars(text.data(), end, value);
  if (status == std::errc::invalid_argument || stop != end) return std::nullopt;
  // Numbers that overflow or underflow could not be written back exactly.
  return status == std::errc() ? value : std::numeric_limits<double>::quiet_NaN();
}

/// Throws if `value`, written as `text`, lies outside `range`. `unit`: follows the bounds in the message.
void check_number(double value, const Range& range, std::string_view text, const char* unit = "") {
  const auto rounded = static_cast<float>(value);
  const bool inside = value >= range.min && value > range.above && value <= range.max && value < range.below;
  const bool inside_as_float = std::isfinite(rounded) && rounded > static_cast<float>(range.above) &&
                               rounded < static_cast<float>(range.below);
  if (!std::isfinite(value) || !inside || !inside_as_float) reject(text, describe(range) + unit);
}

std::vector<double> parse_numbers(std::string_view text, const Range& range) {
  std::vector<double> values;
  if (text.empty()) return values;
  for (const std::string& part : split(text, ',')) {
    if (part.empty()) reject(text, "has a comma with no number before or after it");
    values.push_back(parse_number(part));
    check_number(values.back(), range, part);
  }
  return values;
}

struct TimeUnit {
  char name;
  int seconds;
};
constexpr std::array<TimeUnit, 4> time_units{{{'d', 86400}, {'h', 3600}, {'m', 60}, {'s', 1}}};

bool starts_with_digit(std::string_view text) {
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text.front())) != 0;
}

/// Seconds in a text such as "1d2h": numbers with units, larger units first. `reason`: message for any other
/// text.
double parse_seconds(std::string_view text, const char* reason) {
  double seconds = 0.0;
  const auto* unit = time_units.begin();
  std::string_view rest = text;
  do {
    if (!starts_with_digit(rest)) reject(text, reason);
    const std::size_t letter = std::min(rest.find_first_of("dhms"), rest.size());
    const std::string_view number = rest.substr(0, letter);
    const std::optional<double> count = find_number(number);
    if (!count) reject(text, reason);
    if (letter == rest.size()) {
      reject(text, fmt::format("has no unit after {0}; use d, h, m or s, as in {0}s", number));
    }
    unit = std::find_if(unit, time_units.end(), [&](const TimeUnit& u) { return u.name == rest[letter]; });
    if (unit == time_units.end()) reject(text, reason);
    seconds += *count * unit->seconds;
    ++unit;
    rest.remove_prefix(letter + 1);
  } while (!rest.empty());
  return seconds;
}

/// The duration in `text`, which must be in the range of `field`. `reason`: as for parse_seconds.
Duration parse_duration(const std::string& text, const Field& field, const char* reason) {
  const double seconds = parse_seconds(text, reason);
  const std::string other = *field.zero == '\0' ? "" : fmt::format(", or {}", field.zero);
  check_number(seconds, field.range, text, (" (seconds)" + other).c_str());
  return {.seconds = seconds};
}

}  // namespace

double parse_number(std::string_view text) {
  const std::optional<double> number = find_number(text);
  if (!number) reject(text, "is not a number");
  return *number;
}

long double parse_integer(std::string_view text, long double min, long double max) {
  const bool negative = text.starts_with('-');
  const std::string_view digits = text.substr(negative ? 1 : 0);
  const char* end = digits.data() + digits.size();
  std::uint64_t magnitude = 0;
  const auto [stop, status] = std::from_chars(digits.data(), end, magnitude);
  if (status == std::errc::invalid_argument || stop != end) reject(text, "is not a whole number");
  const auto value = static_cast<long double>(magnitude) * (negative ? -1 : 1);
  if (status == std::errc::result_out_of_range || value < min || value > max) {
    // The message names the maximum of 64-bit numbers only if the value exceeds it.
    const bool exceeded = status == std::errc::result_out_of_range && !negative;
    const bool bounded =
        exceeded || max < static_cast<long double>(std::numeric_limits<std::uint64_t>::max());
    reject(text, bounded ? fmt::format("is out of range: {:.0f} to {:.0f}", min, max)
                         : fmt::format("is out of range: at least {:.0f}", min));
  }
  return value;
}

std::size_t parse_choice(std::string_view text, const Names& names) {
  const auto found = std::find(names.begin(), names.end(), text);
  if (found == names.end()) {
    reject(text, fmt::format("is not one of {}{}", fmt::join(names, ", "), suggestion(text, names)));
  }
  return static_cast<std::size_t>(found - names.begin());
}

std::string bounds_text(const Range& range) {
  return range == Range{} ? "" : fmt::format("{}", fmt::join(bounds_of(range), ", "));
}

std::string value_text(bool value) { return value ? "true" : "false"; }
std::string value_text(double value) { return fmt::format("{}", value); }
std::string value_text(const std::string& value) { return value; }
std::string value_text(const std::vector<double>& values) {
  return fmt::format("{}", fmt::join(values, ","));
}
std::string value_text(const Names& values) { return fmt::format("{}", fmt::join(values, ",")); }
std::string value_text(const Interval& value) { return fmt::format("{},{}", value.min, value.max); }
std::string value_text(const Shape& value) {
  return fmt::format("{}x{}x{}", value.channels, value.height, value.width);
}
std::string value_text(const Duration& value) {
  constexpr double exact = 9007199254740992.0;  // whole numbers of seconds below 2^53 are exact
  const double seconds = value.seconds;
  if (!(seconds >= 1.0 && seconds < exact) || std::floor(seconds) != seconds) {
    return fmt::format("{}s", seconds);
  }
  std::string text;
  auto left = static_cast<std::int64_t>(seconds);
  for (const TimeUnit& unit : time_units) {
    if (left >= unit.seconds) text += fmt::format("{}{}", left / unit.seconds, unit.name);
    left %= unit.seconds;
  }
  return text;
}
std::string value_text(const Period& value) {
  if (value.time == Duration{}) return value_text(value.steps);
  const std::string time = value_text(value.time);
  // A text with both could not be read back, so check_fields refuses it.
  return value.steps == 0 ? time : fmt::format("both {} steps and {}", value.steps, time);
}

void read_value(const std::string& text, const Field& /*field*/, bool& value) {
  static const Names words = {"true", "false", "yes", "no", "on", "off", "1", "0"};
  const auto found = std::find(words.begin(), words.end(), text);
  if (found == words.end()) reject(text, "is neither true nor false");
  value = (found - words.begin()) % 2 == 0;
}

void read_value(const std::string& text, const Field& field, double& value) {
  const double number = parse_number(text);
  check_number(number, field.range, text);
  value = number;
}

void read_value(const std::string& text, const Field& /*field*/, std::string& value) { value = text; }

void read_value(const std::string& text, const Field& field, std::vector<double>& values) {
  Names names;
  for (const auto& [name, numbers] : field.named != nullptr ? field.named() : NamedNumbers()) {
    if (text == name) {
      values = numbers;
      return;
    }
    names.push_back(name);
  }
  if (!names.empty() && !text.empty() && std::isalpha(static_cast<unsigned char>(text[0])) != 0) {
    throw Error(Category::usage, unknown_name("set of statistics", text, names));
  }
  values = parse_numbers(text, field.range);
}

void read_value(const std::string& text, const Field& /*field*/, Names& values) {
  values.clear();
  for (std::string& part : split(text, ',')) {
    if (!part.empty()) values.push_back(std::move(part));
  }
}

void read_value(const std::string& text, const Field& field, Interval& value) {
  const std::vector<double> bounds = parse_numbers(text, field.range);
  if (bounds.size() != 2 || bounds[1] < bounds[0]) reject(text, "is not MIN,MAX with MIN <= MAX");
  value = {.min = bounds[0], .max = bounds[1]};
}

void read_value(const std::string& text, const Field& /*field*/, Shape& value) {
  std::vector<int> extents;
  for (const std::string& part : split(text, 'x')) {
    extents.push_back(static_cast<int>(parse_integer(part, 1, 1U << 16)));
  }
  if (extents.size() != 3) reject(text, "is not CHANNELSxROWSxCOLUMNS, e.g. 3x224x224");
  value = {.channels = extents[0], .height = extents[1], .width = extents[2]};
}

void read_value(const std::string& text, const Field& field, Duration& value) {
  value = parse_duration(text, field, "is not a length of time such as 90s, 5m, 3h50m or 1d2h");
}

void read_value(const std::string& text, const Field& field, Period& value) {
  const char* const reason = "is neither a number of steps nor a length of time such as 90s or 5m";
  if (!starts_with_digit(text)) reject(text, reason);
  Period period;
  if (text.find_first_not_of("0123456789") == std::string::npos) {
    read_value(text, field, period.steps);
  } else {
    period.time = parse_duration(text, field, reason);
  }
  value = period;
}

}  // namespace lockstep
