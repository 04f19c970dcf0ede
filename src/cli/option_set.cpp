#include "cli/option_set.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <cctype>
#include <sstream>

#include "cli/config_file.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

constexpr std::string_view variable_prefix = "LOCKSTEP_";

std::string variable_name(std::string_view option) {
  std::string name(variable_prefix);
  for (const char c : option) {
    name += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return name;
}

std::string option_name(std::string_view variable) {
  std::string name;
  for (const char c : variable.substr(variable_prefix.size())) {
    name += c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return name;
}

/// Kubernetes describes every service of a namespace in the environment of its pods; a service called
/// lockstep or lockstep-something must not look like options.
bool describes_service(std::string_view variable) {
  if (variable.ends_with("_SERVICE_HOST") || variable.find("_SERVICE_PORT") != std::string_view::npos) {
    return true;
  }
  const std::size_t port = variable.find("_PORT");
  if (port == std::string_view::npos) return false;
  const std::string_view rest = variable.substr(port + 5);
  return rest.empty() || rest.starts_with('_');
}

/// The one of `known` that timm or PyTorch's own programs call `name`; else `name`.
std::string our_name(const std::string& name, const std::vector<std::string>& known) {
  static const std::map<std::string, std::string, std::less<>> theirs = {
      {"aa", "randaugment"},   {"b", "batch-size"},        {"initial-checkpoint", "init-from"},
      {"learning-rate", "lr"}, {"num-classes", "classes"}, {"opt", "optimizer"},
      {"opt-betas", "beta1"},  {"workers", "threads"},
  };
  const auto found = theirs.find(name);
  const bool has =
      found != theirs.end() && std::find(known.begin(), known.end(), found->second) != known.end();
  return has ? found->second : name;
}

}  // namespace

OptionSet::OptionSet(std::string usage, std::string summary)
    : usage_(std::move(usage)), summary_(std::move(summary)) {}

void OptionSet::group(std::string title) { group_ = std::move(title); }
void OptionSet::epilogue(std::string text) { epilogue_ = std::move(text); }
void OptionSet::pass_over(const std::vector<std::string>& names) {
  passed_over_.insert(passed_over_.end(), names.begin(), names.end());
}

void OptionSet::add(Option option) {
  option.group = group_;
  if (option.value) option.default_value = option.value();
  options_.push_back(std::move(option));
}

void OptionSet::text(std::string name, std::string metavar, std::string help, std::string& target) {
  add({.name = std::move(name),
       .metavar = std::move(metavar),
       .help = std::move(help),
       .assign = [&target](const std::string& text) { target = text; },
       .value = [&target] { return target; },
       .group = {},
       .default_value = {}});
}

void OptionSet::number(std::string name, std::string metavar, std::string help, double& target,
                       NumberRange range) {
  add({.name = std::move(name),
       .metavar = std::move(metavar),
       .help = std::move(help),
       .assign = [&target, range](const std::string& text) { target = parse_number(text, range); },
       .value = [&target] { return fmt::format("{}", target); },
       .group = {},
       .default_value = {}});
}

void OptionSet::numbers(std::string name, std::string metavar, std::string help,
                        std::vector<double>& target) {
  add({.name = std::move(name),
       .metavar = std::move(metavar),
       .help = std::move(help),
       .assign = [&target](const std::string& text) { target = parse_numbers(text, {}); },
       .value = [&target] { return fmt::format("{}", fmt::join(target, ",")); },
       .group = {},
       .default_value = {}});
}

void OptionSet::texts(std::string name, std::string metavar, std::string help,
                      std::vector<std::string>& target) {
  add({.name = std::move(name),
       .metavar = std::move(metavar),
       .help = std::move(help),
       .assign =
           [&target](const std::string& text) {
             target.clear();
             std::istringstream items(text);
             for (std::string item; std::getline(items, item, ',');) {
               if (!item.empty()) target.push_back(item);
             }
           },
       .value = [&target] { return fmt::format("{}", fmt::join(target, ",")); },
       .group = {},
       .default_value = {},
       .repeats = true});
}

void OptionSet::value(std::string name, std::string metavar, std::string help,
                      std::function<void(const std::string&)> assign, std::function<std::string()> value) {
  add({.name = std::move(name),
       .metavar = std::move(metavar),
       .help = std::move(help),
       .assign = std::move(assign),
       .value = std::move(value),
       .group = {},
       .default_value = {}});
}

void OptionSet::flag(std::string name, std::string help, bool& target) {
  add({.name = std::move(name),
       .metavar = {},
       .help = std::move(help),
       .assign = [&target](const std::string& text) { target = parse_flag(text); },
       .value = [&target] { return std::string(target ? "true" : "false"); },
       .group = {},
       .default_value = {}});
}

void OptionSet::choice(std::string name, std::string help, std::string& target,
                       std::vector<std::string> names) {
  std::string metavar = fmt::format("{}", fmt::join(names, "|"));
  if (metavar.size() > 24) {
    help += fmt::format(": {}", fmt::join(names, ", "));
    metavar = "NAME";
  }
  add({.name = std::move(name),
       .metavar = std::move(metavar),
       .help = std::move(help),
       .assign = [&target, names](const std::string& text) { target = names[parse_choice(text, names)]; },
       .value = [&target] { return target; },
       .group = {},
       .default_value = {}});
}

void OptionSet::config_file() {
  add({.name = "config",
       .metavar = "FILE",
       .help = "read options from FILE, one `name = value` a line; # starts a comment",
       .assign = [](const std::string&) {},
       .value = nullptr,
       .group = {},
       .default_value = {}});
}

void OptionSet::positional(std::string metavar, std::string help, std::string& target) {
  positionals_.push_back({std::move(metavar), std::move(help), &target});
}

void OptionSet::optional_positional(std::string metavar, std::string help, std::string& target) {
  positionals_.push_back({std::move(metavar), std::move(help), &target, false});
}

bool OptionSet::parse(int argc, const char* const* argv, const char* const* environment) {
  Values values;
  if (!read_command_line(argc, argv, values)) return false;
  if (environment != nullptr) read_environment(environment, values);
  if (const auto config = values.find("config"); config != values.end()) {
    read_file(std::string(config->second.value), values);
  }
  for (const auto& [name, given] : values) {
    try {
      find(name)->assign(given.value);
    } catch (const Error& error) {
      throw Error(Category::usage, given.origin + ": " + error.what());
    }
  }
  return true;
}

bool OptionSet::read_command_line(int argc, const char* const* argv, Values& values) const {
  namespace po = boost::program_options;
  using Style = po::command_line_style::style_t;
  po::options_description description;
  for (const Option& option : options_) {
    auto* semantic = po::value<std::string>();
    if (option.metavar.empty()) semantic->zero_tokens();
    description.add_options()(option.name.c_str(), semantic, "");
  }
  const int style = Style::allow_long | Style::allow_short | Style::allow_dash_for_short |
                    Style::long_allow_adjacent | Style::long_allow_next | Style::short_allow_next;
  std::vector<std::string> tokens(argv + std::min(argc, 1), argv + argc);
  const auto asks_for_help = [](const std::string& token) { return token == "--help" || token == "-h"; };
  if (std::any_of(tokens.begin(), tokens.end(), asks_for_help)) return false;
  take_flag_values(tokens, values);
  std::vector<std::string> arguments;
  try {
    const auto parsed =
        po::command_line_parser(tokens).options(description).style(style).allow_unregistered().run();
    for (const auto& part : parsed.options) {
      if (part.position_key >= 0) {
        arguments.push_back(part.value.at(0));
      } else if (part.unregistered) {
        reject_unknown(part.original_tokens.at(0));
      } else {
        take(values, part.string_key, part.value.empty() ? "true" : part.value.front());
      }
    }
  } catch (const po::error_with_option_name& error) {
    throw Error(Category::usage, fmt::format("{} needs a value", error.get_option_name()));
  } catch (const po::error& error) {
    throw Error(Category::usage, error.what());
  }
  assign_positionals(arguments);
  return true;
}

void OptionSet::take_flag_values(std::vector<std::string>& tokens, Values& values) const {
  const auto take_one = [&](const std::string& token) {
    const std::size_t equals = token.find('=');
    if (!token.starts_with("--") || equals == std::string::npos) return false;
    const Option* option = find(std::string_view(token).substr(2, equals - 2));
    if (option == nullptr || !option->metavar.empty()) return false;
    take(values, option->name, token.substr(equals + 1));
    return true;
  };
  std::erase_if(tokens, take_one);
}

void OptionSet::take(Values& values, const std::string& name, std::string value) const {
  // `--lr --seed 3`: the value was forgotten.
  if (value.starts_with("--") && find(std::string_view(value).substr(2)) != nullptr) {
    throw Error(Category::usage, fmt::format("--{} needs a value; {} follows", name, value));
  }
  const auto [given, first] = values.insert({name, {value, "--" + name}});
  if (first) return;
  if (!find(name)->repeats) throw Error(Category::usage, fmt::format("--{} is given twice", name));
  given->second.value += "," + value;
}

void OptionSet::reject_unknown(const std::string& token) const {
  const std::string typed = token.substr(0, token.find('='));
  const std::string name = typed.substr(std::min(typed.find_first_not_of('-'), typed.size()));
  std::vector<std::string> known{"help"};
  for (const Option& option : options_) known.push_back(option.name);
  throw Error(Category::usage, fmt::format("unknown option {}{}", in_quotes(typed),
                                           suggestion(our_name(name, known), known, "--")));
}

void OptionSet::assign_positionals(const std::vector<std::string>& arguments) const {
  if (arguments.size() > positionals_.size()) {
    throw Error(Category::usage, fmt::format("unexpected argument {}; usage: {}",
                                             in_quotes(arguments[positionals_.size()]), usage_));
  }
  for (std::size_t i = 0; i < positionals_.size(); ++i) {
    if (i == arguments.size() && !positionals_[i].required) {
      return;
    }
    if (i == arguments.size()) {
      throw Error(Category::usage, fmt::format("{} is missing; usage: {}", positionals_[i].metavar, usage_));
    }
    *positionals_[i].target = arguments[i];
  }
}

void OptionSet::read_environment(const char* const* environment, Values& values) const {
  for (; *environment != nullptr; ++environment) {
    const std::string_view entry = *environment;
    const std::size_t equals = entry.find('=');
    if (!entry.starts_with(variable_prefix) || equals == std::string_view::npos) continue;
    const std::string variable(entry.substr(0, equals));
    const std::string value(entry.substr(equals + 1));
    const std::string name = option_name(variable);
    if (value.empty() || describes_service(variable)) continue;
    if (find(name) != nullptr && variable == variable_name(name)) {
      values.insert({name, {value, variable}});
    } else if (!known_elsewhere(name) && name != "config") {
      std::vector<std::string> variables;
      for (const std::string& known : names()) variables.push_back(variable_name(known));
      throw Error(Category::usage, fmt::format("unknown environment variable {}{}", in_quotes(variable),
                                               suggestion(variable, variables)));
    }
  }
}

void OptionSet::read_file(const std::string& file, Values& values) const {
  for (const ConfigEntry& entry : read_config(file)) {
    const Option* option = find(entry.name);
    if (option != nullptr && option->value) {
      values.insert({entry.name, {entry.value, fmt::format("{}:{}: {}", file, entry.line, entry.name)}});
    } else if (!known_elsewhere(entry.name)) {
      throw Error(Category::usage,
                  fmt::format("{}:{}: unknown option {}{}", file, entry.line, in_quotes(entry.name),
                              suggestion(our_name(entry.name, names()), names())));
    }
  }
}

const OptionSet::Option* OptionSet::find(std::string_view name) const {
  const auto same = [&](const Option& option) { return option.name == name; };
  const auto found = std::find_if(options_.begin(), options_.end(), same);
  return found == options_.end() ? nullptr : &*found;
}

bool OptionSet::known_elsewhere(std::string_view name) const {
  return std::find(passed_over_.begin(), passed_over_.end(), name) != passed_over_.end();
}

std::vector<std::string> OptionSet::names() const {
  std::vector<std::string> result;
  for (const Option& option : options_) {
    if (option.value) result.push_back(option.name);
  }
  return result;
}

std::string OptionSet::config() const {
  std::string text;
  std::string group;
  for (const Option& option : options_) {
    const std::string value = option.value ? option.value() : "";
    if (value.empty()) continue;
    if (option.group != group) text += fmt::format("{}# {}\n", text.empty() ? "" : "\n", option.group);
    group = option.group;
    text += fmt::format("{} = {}\n", option.name, config_value(value));
  }
  return text;
}

}  // namespace lockstep
