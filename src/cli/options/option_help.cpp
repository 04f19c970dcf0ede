#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iterator>
#include <sstream>

#include "cli/options/option_set.h"

namespace lockstep {
namespace {

constexpr std::size_t line_columns = 100;
constexpr std::size_t help_column = 30;

Names words_of(const std::string& text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), {}};
}

std::string wrap_lines(const std::string& text) {
  std::istringstream lines(text);
  std::string result;
  for (std::string line; std::getline(lines, line);) result += wrap(words_of(line), 0);
  return result;
}

/// Entry of an option: its flag, then its help, on the next line if the flag is too long.
std::string entry(const std::string& typed, const std::string& help) {
  std::string line = "  " + typed;
  if (line.size() + 2 <= help_column) return line + wrap(words_of(help), help_column, line.size());
  return line + "\n" + wrap(words_of(help), help_column);
}

/// Conditions for an effect of the option, before its help: "with --optimizer sgd|lars: ".
std::string needs_text(const Field& field) {
  Names parts;
  if (*field.device != '\0') parts.emplace_back(std::string_view(field.device) == "cpu" ? "CPU" : "CUDA");
  for (const auto& [option, values] : field.needs) {
    const char* const separator = values.empty() ? "" : " ";
    parts.push_back(fmt::format("with --{}{}{}", option, separator, fmt::join(values, "|")));
  }
  return parts.empty() ? "" : fmt::format("{}: ", fmt::join(parts, ", "));
}

/// Possible values of the option, after its help: "; one of sgd, lars", " (at least 0, below 1)".
std::string values_text(const Field& field, const Names& choices, const std::string& placeholder) {
  std::string text;
  if (!choices.empty() && placeholder == "NAME") text += fmt::format("; one of {}", fmt::join(choices, ", "));
  if (field.named != nullptr) {
    Names names;
    for (const auto& [name, numbers] : field.named()) names.push_back(name);
    text += fmt::format("; NAME: one of {}", fmt::join(names, ", "));
  }
  if (*field.by_data != '\0') text += fmt::format("; {}: {}", by_data_text, field.by_data);
  const std::string bounds = bounds_text(field.range);
  return bounds.empty() ? text : fmt::format("{} ({})", text, bounds);
}

}  // namespace

std::string wrap(const Names& items, std::size_t indent, std::size_t used) {
  std::string text, line(indent, ' ');
  for (const std::string& item : items) {
    if (line.size() > indent && line.size() + 1 + item.size() > line_columns) {
      text += line + "\n";
      line.assign(indent, ' ');
    }
    line += (line.size() > indent ? " " : "") + item;
  }
  return (text + line).substr(used) + "\n";
}

CommandHelp OptionSet::describe() const {
  CommandHelp result{.usage = usage_, .summary = summary_, .prologue = prologue_, .epilogue = epilogue_};
  for (const Positional& argument : positionals_) {
    result.arguments.push_back({argument.placeholder, argument.help, argument.choices});
  }
  for (const Option& option : options_) {
    const Field& field = option.field;
    const std::string& placeholder = option.placeholder;
    std::string help = needs_text(field) + field.help + values_text(field, option.choices, placeholder);
    if (!placeholder.empty() && !option.default_value.empty()) {
      help += fmt::format(" [{}]", option.default_value);
    }
    // A switch that is on by default is listed with the text that turns it off.
    const char* const off = placeholder.empty() && option.default_value == "true" ? "=false" : "";
    result.options.push_back({.flag = fmt::format("--{}{}", field.name, off),
                              .placeholder = placeholder,
                              .help = std::move(help),
                              .heading = option.group,
                              .choices = field.suggested == nullptr ? option.choices : field.suggested(),
                              .is_path = option.is_path});
  }
  result.options.push_back(
      {.flag = "--help", .placeholder = {}, .help = "show this text", .heading = "Other"});
  return result;
}

std::string help_text(const CommandHelp& help) {
  std::string text = fmt::format("Usage: {}\n\n{}", help.usage, wrap_lines(help.summary));
  if (!help.prologue.empty()) text += "\n" + help.prologue;
  if (!help.arguments.empty()) text += "\nArguments:\n";
  for (const CommandHelp::Argument& each : help.arguments) text += entry(each.placeholder, each.help);
  std::string heading;
  for (const CommandHelp::Option& option : help.options) {
    if (option.heading != heading) text += fmt::format("\n{}:\n", option.heading);
    heading = option.heading;
    text += entry(option.flag + (option.placeholder.empty() ? "" : " " + option.placeholder), option.help);
  }
  if (!help.epilogue.empty()) text += "\n" + help.epilogue;
  return text;
}

}  // namespace lockstep
