#include "cli/options/config_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/files/file.h"
#include "core/text/printable.h"
#include "core/text/utf8.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

constexpr std::size_t size_limit = 1 << 20;
constexpr std::string_view blanks = " \t\r";
// Characters after a backslash, and the characters that they stand for.
constexpr std::string_view escape_letters = "\"\\ntr";
constexpr std::string_view escape_values = "\"\\\n\t\r";

/// Line being read, with its place for errors.
struct ConfigLine {
  std::string_view text;
  const std::string& origin;
  int number;

  [[noreturn]] void reject(const std::string& reason) const {
    throw Error(Category::usage, fmt::format("{}:{}: {}", origin, number, reason));
  }
};

std::string_view trim(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

std::string_view without_comment(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool starts = i == 0 || blanks.find(text[i - 1]) != std::string_view::npos;
    if (text[i] == '#' && starts) return text.substr(0, i);
  }
  return text;
}

/// Value of `text`, which starts with a double quote.
std::string unquote(const ConfigLine& line, std::string_view text) {
  std::string value;
  std::size_t i = 1;
  for (; i < text.size() && text[i] != '"'; ++i) {
    if (text[i] != '\\') {
      value += text[i];
      continue;
    }
    const std::size_t which = i + 1 < text.size() ? escape_letters.find(text[++i]) : std::string_view::npos;
    if (which == std::string_view::npos) line.reject("a backslash must be followed by one of \" \\ n t r");
    value += escape_values[which];
  }
  if (i >= text.size()) line.reject("the closing double quote is missing");
  if (!trim(without_comment(text.substr(i + 1))).empty()) line.reject("text after the closing double quote");
  return value;
}

bool is_key_character(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; }

ConfigEntry parse_line(const ConfigLine& line) {
  const std::size_t equals = line.text.find('=');
  const std::string_view name = trim(line.text.substr(0, equals));
  if (equals == std::string_view::npos) line.reject(in_quotes(name) + " is not of the form key = value");
  if (name.empty() || !std::all_of(name.begin(), name.end(), is_key_character)) {
    line.reject(in_quotes(name) + " is not an option name: lower-case letters, digits and dashes");
  }
  const std::string_view raw = trim(line.text.substr(equals + 1));
  const bool in_quotes = raw.starts_with('"');
  // The blank before a comment may have been trimmed away: `key = # nothing` has an empty value.
  const std::string value = in_quotes ? unquote(line, raw) : std::string(trim(without_comment(raw)));
  return {std::string(name), value, line.number};
}

}  // namespace

std::vector<ConfigEntry> parse_config(std::string_view text, const std::string& origin) {
  if (text.size() > size_limit) throw Error(Category::usage, origin + ": longer than 1 MiB");
  std::vector<ConfigEntry> entries;
  std::set<std::string> seen;
  int number = 0;
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const ConfigLine line{text.substr(begin, end - begin), origin, ++number};
    begin = end + 1;
    if (line.text.find('\0') != std::string_view::npos) line.reject("holds a zero byte: not a text file");
    const std::string_view content = trim(line.text);
    if (content.empty() || content.front() == '#') continue;
    entries.push_back(parse_line(line));
    if (!seen.insert(entries.back().name).second) line.reject(entries.back().name + " is given twice");
  }
  return entries;
}

std::vector<ConfigEntry> read_config(const std::string& file) {
  std::string text;
  try {
    text = read_text(file, size_limit + 1);
  } catch (const Error& error) {
    if (error.category() == Category::resource) throw;
    throw Error(Category::usage, error.message(), "config");
  }
  return parse_config(text, file);
}

std::string config_value(std::string_view value) {
  const bool outer_blanks = trim(value) != value;
  const bool special = value.find_first_of("#\"\n\r\t") != std::string_view::npos;
  if (!outer_blanks && !special) return std::string(value);
  std::string result = "\"";
  for (const char c : value) {
    const std::size_t which = escape_values.find(c);
    if (which == std::string_view::npos) {
      result += c;
    } else {
      result += '\\';
      result += escape_letters[which];
    }
  }
  return result + "\"";
}

}  // namespace lockstep
