#include <fmt/format.h>

#include <sstream>

#include "cli/option_set.h"

namespace lockstep {
namespace {

constexpr std::size_t columns = 100;
constexpr std::size_t help_column = 30;

/// Words of `text` in lines that start at `indent`; the first line already holds `used` columns.
std::string wrap(const std::string& text, std::size_t indent, std::size_t used) {
  std::istringstream words(text);
  std::string result;
  std::size_t column = used;
  if (column < indent) {
    result.append(indent - column, ' ');
    column = indent;
  }
  bool first = true;
  for (std::string word; words >> word; first = false) {
    if (!first && column + 1 + word.size() > columns) {
      result += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (!first) {
      result += ' ';
      ++column;
    }
    result += word;
    column += word.size();
  }
  return result + "\n";
}

/// One entry: what is typed, then its explanation, on the next line where the first is too long.
std::string entry(const std::string& typed, const std::string& help) {
  std::string line = "  " + typed;
  if (line.size() + 2 <= help_column) return line + wrap(help, help_column, line.size());
  return line + "\n" + wrap(help, help_column, 0);
}

}  // namespace

std::string OptionSet::help() const {
  std::string text = fmt::format("Usage: {}\n\n{}", usage_, wrap(summary_, 0, 0));
  if (!positionals_.empty()) text += "\nArguments:\n";
  for (const Positional& argument : positionals_) text += entry(argument.metavar, argument.help);
  std::string group;
  for (const Option& option : options_) {
    if (option.group != group) text += fmt::format("\n{}:\n", option.group);
    group = option.group;
    const bool is_flag = option.metavar.empty();
    const bool shows_default = !is_flag && !option.default_value.empty();
    text += entry("--" + option.name + (is_flag ? "" : " ") + option.metavar,
                  option.help + (shows_default ? fmt::format(" [{}]", option.default_value) : ""));
  }
  text += (options_.empty() ? "\nOptions:\n" : "") + entry("--help", "show this text");
  if (!epilogue_.empty()) text += "\n" + epilogue_;
  return text;
}

}  // namespace lockstep
