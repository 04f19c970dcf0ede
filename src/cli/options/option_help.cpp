#include <fmt/format.h>
#include <fmt/ranges.h>

#include <sstream>

#include "cli/options/option_set.h"

namespace lockstep {
namespace {

constexpr std::size_t columns = 100;
constexpr std::size_t help_column = 30;

/// Wraps the words of `text` into lines that start at column `indent`; `used` columns of the first one are
/// taken.
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

/// Entry of an option: its flag, then its help, on the next line if the flag is too long.
std::string entry(const std::string& typed, const std::string& help) {
  std::string line = "  " + typed;
  if (line.size() + 2 <= help_column) return line + wrap(help, help_column, line.size());
  return line + "\n" + wrap(help, help_column, 0);
}

/// Names of what an option needs to have an effect, before its help: "sgd, lars: ".
std::string needs_text(const std::vector<Requirement>& needs) {
  Names parts;
  for (const auto& [option, values] : needs) {
    parts.push_back(values.empty() ? fmt::format("with --{}", option)
                                   : fmt::format("{}", fmt::join(values, ", ")));
  }
  return parts.empty() ? "" : fmt::format("{}: ", fmt::join(parts, ", "));
}

/// Names that stand for lists of numbers, behind its help.
std::string named_text(NamedNumbers (*named)()) {
  if (named == nullptr) return "";
  Names names;
  for (const auto& [name, numbers] : named()) names.push_back(name);
  return fmt::format("; NAME: {}", fmt::join(names, ", "));
}

}  // namespace

std::string OptionSet::help() const {
  std::string text = fmt::format("Usage: {}\n\n{}", usage_, wrap(summary_, 0, 0));
  if (!prologue_.empty()) text += "\n" + prologue_;
  if (!positionals_.empty()) text += "\nArguments:\n";
  for (const Positional& argument : positionals_) text += entry(argument.placeholder, argument.help);
  std::string group;
  for (const Option& option : options_) {
    const Field& field = option.field;
    if (!field.visible) continue;
    if (option.group != group) text += fmt::format("\n{}:\n", option.group);
    group = option.group;
    std::string help = needs_text(field.needs) + field.help + named_text(field.named);
    const std::string& placeholder = option.placeholder;
    if (!option.choices.empty() && placeholder == "NAME") {
      help += fmt::format(": {}", fmt::join(option.choices, ", "));
    }
    if (!placeholder.empty() && !option.default_value.empty())
      help += fmt::format(" [{}]", option.default_value);
    text += entry(fmt::format("--{}{}{}", field.name, placeholder.empty() ? "" : " ", placeholder), help);
  }
  text += (options_.empty() ? "\nOptions:\n" : "") + entry("--help", "show this text");
  if (!epilogue_.empty()) text += "\n" + epilogue_;
  return text;
}

}  // namespace lockstep
