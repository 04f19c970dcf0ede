#include "data/files/number_pattern.h"

#include <fmt/format.h>

#include <cstdint>
#include <string_view>

#include "core/text/printable.h"
#include "core/text/whole_number.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

constexpr std::size_t max_names = 100'000;

[[noreturn]] void fail(const std::string& pattern, const char* reason) {
  throw Error(Category::usage, fmt::format("{}: {}", in_quotes(pattern), reason));
}

}  // namespace

std::vector<std::string> expand_numbers(const std::string& pattern) {
  const std::size_t open = pattern.find_first_of("{}");
  if (open == std::string::npos) return {pattern};
  const std::size_t dots = pattern.find("..", open), close = pattern.find('}', open);
  constexpr const char* wrong = "braces must contain a range of numbers, such as {00..09}";
  if (pattern[open] != '{' || dots == std::string::npos || close == std::string::npos || dots > close) {
    fail(pattern, wrong);
  }
  const std::string_view text = pattern;
  const std::string_view first = text.substr(open + 1, dots - open - 1),
                         last = text.substr(dots + 2, close - dots - 2);
  const auto begin = whole_number<std::uint32_t>(first), end = whole_number<std::uint32_t>(last);
  if (!begin || !end || *end < *begin) fail(pattern, wrong);
  const std::size_t digits = first.front() == '0' ? first.size() : 1;
  const std::vector<std::string> rests = expand_numbers(pattern.substr(close + 1));
  if ((std::uint64_t{*end} - *begin + 1) * rests.size() > max_names) fail(pattern, "more than 100000 files");
  std::vector<std::string> names;
  for (std::uint64_t number = *begin; number <= *end; ++number) {
    for (const std::string& rest : rests) {
      names.push_back(fmt::format("{}{:0{}}{}", text.substr(0, open), number, digits, rest));
    }
  }
  return names;
}

}  // namespace lockstep
