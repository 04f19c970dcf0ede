#include "data/files/csv_cell.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <regex>
#include <string>

namespace lockstep {

std::string_view without_spaces(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) {
    return {};
  }
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::optional<double> csv_number(std::string_view text, char separator) {
  constexpr std::size_t longest_with_comma = 400;  // a double has up to 309 digits before the comma
  const auto comma = text.find(',');
  if (comma != std::string_view::npos && separator == ';' && text.size() <= longest_with_comma &&
      text.find('.') == std::string_view::npos) {
    std::string with_point(text);
    with_point[comma] = '.';
    return csv_number(with_point, ',');
  }
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  const char* end = text.data() + text.size();
  double value = 0.0;
  const auto [stop, status] = std::from_chars(text.data(), end, value);
  if (text.empty() || stop != end || status == std::errc::invalid_argument) return std::nullopt;
  if (status == std::errc::result_out_of_range) {
    // The wider exponent of a long double distinguishes overflow from underflow; beyond it, the sign of the
    // exponent does.
    const bool is_small = text.find('-', 1) != std::string_view::npos;
    long double wide = is_small ? 0.0L : std::numeric_limits<long double>::infinity();
    std::from_chars(text.data(), end, wide);
    value = static_cast<double>(wide);
  }
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

bool is_csv_gap(std::string_view text) {
  constexpr std::array<std::string_view, 7> gaps = {"", "?", "na", "n/a", "nan", "null", "none"};
  if (text.size() > 4) return false;
  std::string lower(text);
  for (char& letter : lower)
    letter = letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter + 32) : letter;
  return std::ranges::find(gaps, lower) != gaps.end();
}

bool is_csv_date(std::string_view text) {
  constexpr std::size_t longest = 40;
  static const std::string date =
      "[0-9]{4}[-/.](0?[1-9]|1[0-2])([-/.][0-9]{1,2})?|"
      "[0-9]{1,2}[-/.][0-9]{1,2}[-/.]([0-9]{4}|[0-9]{2})|"
      "([0-9]{1,2}\\.?[- ])?"
      "(jan(uary)?|feb(ruary)?|mar(ch)?|apr(il)?|may|june?|july?|aug(ust)?|sept?(ember)?|oct(ober)?|"
      "nov(ember)?|dec(ember)?)"
      "\\.?[- ][0-9]{1,4}(,? [0-9]{4})?";
  static const std::string time =
      "[0-9]{1,2}:[0-9]{2}(:[0-9]{2}([.,][0-9]+)?)?( ?[ap]m)?( ?(z|utc|gmt|[+-][0-9]{2}:?[0-9]{2}))?";
  static const std::regex pattern("((" + date + ")([t ] *" + time + ")?|" + time + ")",
                                  std::regex::icase | std::regex::optimize);
  return text.size() <= longest && std::regex_match(text.begin(), text.end(), pattern);
}

bool is_other_number(std::string_view text) {
  constexpr std::size_t longest = 40;
  static const std::regex plain(
      "[-+]?([0-9]+,[0-9]+|[0-9]{1,3}((,[0-9]{3})+(\\.[0-9]+)?|('[0-9]{3})+([.,][0-9]+)?|"
      "(\\.[0-9]{3})+,[0-9]+))|"
      "-?[1-9][0-9]{0,2}( [0-9]{3})+([.,][0-9]+)?",  // no leading +, as in telephone numbers
      std::regex::optimize);
  static const std::regex with_unit(
      "(\\$|€|£|¥)? ?[-+]?(\\$|€|£|¥)? ?([0-9]+([.,][0-9]+)?|[0-9]{1,3}((,[0-9]{3})+(\\.[0-9]+)?|"
      "(\\.[0-9]{3})+(,[0-9]+)?|(('[0-9]{3})+|( [0-9]{3})+)([.,][0-9]+)?)) ?(%|\\$|€|£|¥)?",
      std::regex::optimize);
  const bool has_unit = text.find_first_not_of("0123456789,.' +-") != std::string_view::npos;
  return text.size() <= longest && std::regex_match(text.begin(), text.end(), has_unit ? with_unit : plain);
}

}  // namespace lockstep
