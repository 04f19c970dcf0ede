#include "cli/options/option_set.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <cctype>

#include "core/options/internal_variables.h"
#include "core/text/nearest.h"
#include "core/text/printable.h"

namespace lockstep {
namespace {

constexpr std::string_view variable_prefix = "LOCKSTEP_";
constexpr std::string_view end_of_options = "--";

std::string variable_name(std::string_view option) {
  std::string name(variable_prefix);
  for (const char c : option) {
    name += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return name;
}

std::string option_name(std::string_view variable) {
  std::string name = in_small_letters(std::string(variable.substr(variable_prefix.size())));
  std::ranges::replace(name, '_', '-');
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

}  // namespace

bool wants_help(int argc, const char* const* argv) {
  const auto is_end = [](std::string_view argument) { return argument == end_of_options; };
  return std::any_of(argv + std::min(argc, 1), std::find_if(argv + std::min(argc, 1), argv + argc, is_end),
                     [](std::string_view argument) { return argument == "--help" || argument == "-h"; });
}

void OptionSet::insert(Option option) {
  if (*option.field.group != '\0') group_ = option.field.group;
  option.group = group_;
  if (option.value) option.default_value = option.value();
  if (!option.choices.empty()) {
    const std::string all = fmt::format("{}", fmt::join(option.choices, "|"));
    option.placeholder = all.size() > 24 ? "NAME" : all;
  }
  const std::string& placeholder = option.placeholder;
  option.is_path = option.field.scope == Scope::file || placeholder == "FILE" || placeholder == "DIR";
  // Insert the option after the other options of its group.
  const auto same = [&](const Option& other) { return other.group == option.group; };
  const auto last = std::find_if(options_.rbegin(), options_.rend(), same);
  options_.insert(last == options_.rend() ? options_.end() : last.base(), std::move(option));
}

void OptionSet::config_file() {
  insert({.field = {.name = "config",
                    .help = "read options from FILE: one `name = value` per line; # starts a comment",
                    .group = "Other"},
          .placeholder = "FILE",
          .assign = [](const std::string&) {}});
}

void OptionSet::choice(std::string noun, const Names& choices, std::string help, std::string& target) {
  positionals_.push_back({.placeholder = fmt::format("{}", fmt::join(choices, "|")),
                          .help = std::move(help),
                          .target = &target,
                          .choices = choices,
                          .noun = std::move(noun)});
}

bool OptionSet::parse(int argc, const char* const* argv, const char* const* environment) {
  if (wants_help(argc, argv)) return false;
  Values values;
  read_command_line(argc, argv, values);
  if (environment != nullptr) read_environment(environment, values);
  read_files(values);
  const Names beside_list = replace_by_list(values);
  for (const auto& [name, source] : values) given_.insert(name);
  const std::vector<ImpliedValue> overridden = add_implied(values);
  const Names of_recipe = read_recipe(values);
  for (const auto& [name, source] : values) {
    origins_[name] = source.origin;
    try {
      find(name)->assign(source.value);
    } catch (const Error& error) {
      throw Error(Category::usage, source.origin + ": " + error.what());
    }
  }
  for (const ImpliedValue& value : overridden) {
    const std::string present = find(value.name)->value();
    if (present == value.value) continue;
    contradictions_.push_back(fmt::format("{} is {}, but {} in {}", origin(value.name), in_quotes(present),
                                          in_quotes(value.value), value.origin));
  }
  reset_idle(of_recipe);
  reset_idle(beside_list);
  explain([&] {
    check_requirements(of_recipe);
    for (const auto& check : checks_) check();
  });
  return true;
}

OptionSet::Given OptionSet::given_in(const Values& values) {
  return [&values](const std::string& name) {
    const auto found = values.find(name);
    return found == values.end() ? "" : found->second.value;
  };
}

std::vector<ImpliedValue> OptionSet::add_implied(Values& values) const {
  std::vector<ImpliedValue> overridden;
  if (!implied_) return overridden;
  for (ImpliedValue& implied : implied_(given_in(values))) {
    const Option* option = find(implied.name);
    if (option == nullptr || !option->value) continue;
    const bool is_new =
        values.insert({implied.name, {implied.value, fmt::format("{}: {}", implied.origin, implied.name)}})
            .second;
    if (!is_new && implied.contradicts) overridden.push_back(std::move(implied));
  }
  return overridden;
}

void OptionSet::check_requirements(const Names& of_recipe) const {
  try {
    check_needs(texts());
  } catch (const Error& error) {
    const std::string file = file_of(error.field());
    if (!file.empty()) {  // an option that overrides another value of the file is at fault
      for (const Requirement& requirement : find(error.field())->field.needs) {
        if (!is_given(requirement.option) || file_of(requirement.option) == file) continue;
        throw Error(error.category(),
                    fmt::format("leaves {} without effect: omit one of them", origin(error.field())),
                    requirement.option);
      }
    }
    const auto is_in_recipe = [&](const Requirement& requirement) {
      return std::ranges::find(of_recipe, requirement.option) != of_recipe.end();
    };
    if (std::ranges::none_of(find(error.field())->field.needs, is_in_recipe)) throw;
    throw Error(error.category(),
                fmt::format("{}, or switch the recipe off (--{} none)", error.message(), recipe_option_),
                error.field());
  }
}

void OptionSet::read_command_line(int argc, const char* const* argv, Values& values) const {
  namespace po = boost::program_options;
  using Style = po::command_line_style::style_t;
  po::options_description description;
  for (const Option& option : options_) {
    auto* semantic = po::value<std::string>();
    if (option.placeholder.empty()) semantic->zero_tokens();
    description.add_options()(option.field.name, semantic, "");
  }
  const int style = Style::allow_long | Style::allow_short | Style::allow_dash_for_short |
                    Style::long_allow_adjacent | Style::long_allow_next | Style::short_allow_next;
  std::vector<std::string> tokens(argv + std::min(argc, 1), argv + argc);
  take_switch_values(tokens, values);
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
  }
  assign_positionals(arguments);
}

void OptionSet::take_switch_values(std::vector<std::string>& tokens, Values& values) const {
  const auto take_one = [&](const std::string& token) {
    const std::size_t equals = token.find('=');
    if (!token.starts_with("--") || equals == std::string::npos) return false;
    const Option* option = find(std::string_view(token).substr(2, equals - 2));
    if (option == nullptr || !option->placeholder.empty()) return false;
    take(values, option->field.name, token.substr(equals + 1));
    return true;
  };
  const auto end = std::ranges::find(tokens, end_of_options);
  tokens.erase(std::remove_if(tokens.begin(), end, take_one), end);
}

void OptionSet::take(Values& values, const std::string& name, std::string value) const {
  // `--lr --seed 3`: the value was forgotten.
  if (value.starts_with("--") && find(std::string_view(value).substr(2)) != nullptr) {
    throw Error(Category::usage, fmt::format("--{} needs a value; {} follows", name, value));
  }
  const Option& option = *find(name);
  if (value.empty() && (option.is_path || option.field.scope == Scope::local)) {
    throw Error(Category::usage, fmt::format("--{} is empty: give a value, or leave the option out", name));
  }
  const auto [source, first] = values.insert({name, {value, "--" + name}});
  if (first) return;
  if (!option.repeats) throw Error(Category::usage, fmt::format("--{} is given twice", name));
  source->second.value += "," + value;
}

void OptionSet::reject_unknown(const std::string& token) const {
  const std::string typed = token.substr(0, token.find('='));
  const std::string name = typed.substr(std::min(typed.find_first_not_of('-'), typed.size()));
  for (const char* ranks : {"np", "n", "nproc", "nproc_per_node", "nproc-per-node"}) {
    if (name != ranks) continue;
    throw Error(Category::usage,
                fmt::format("unknown option {}; lockstep-run -np N starts N ranks: put it in "
                            "place of lockstep",
                            in_quotes(typed)));
  }
  std::vector<std::string> known{"help"};
  for (const Option& option : options_) known.emplace_back(option.field.name);
  throw Error(Category::usage,
              fmt::format("unknown option {}{}", in_quotes(typed), suggestion(name, known, "--")));
}

void OptionSet::assign_positionals(const std::vector<std::string>& arguments) const {
  const std::size_t single = positionals_.size() - (list_ != nullptr ? 1 : 0);
  const auto check_one = [&](const Positional& positional, const std::string& argument) {
    const Names& choices = positional.choices;
    if (!choices.empty() && std::ranges::find(choices, argument) == choices.end())
      throw Error(Category::usage, unknown_name(positional.noun, argument, choices));
    if (argument.empty())
      throw Error(Category::usage, fmt::format("{} is empty; usage: {}", positional.placeholder, usage_));
  };
  if (arguments.size() > single && list_ == nullptr) {
    const std::string& first = arguments[single];
    throw Error(
        Category::usage,
        first.ends_with(".tar")  // an archive of --data-dir train-{00..09}.tar, which the shell expanded
            ? fmt::format("unexpected argument {}: put quotes around the braces of a range of archives",
                          in_quotes(first))
            : fmt::format("unexpected argument {}; usage: {}", in_quotes(first), usage_));
  }
  for (std::size_t i = single; i < arguments.size(); ++i) check_one(positionals_.back(), arguments[i]);
  if (arguments.size() > single)
    list_->assign(arguments.begin() + static_cast<std::ptrdiff_t>(single), arguments.end());
  for (std::size_t i = 0; i < single; ++i) {
    const Positional& positional = positionals_[i];
    if (i < arguments.size()) {
      check_one(positional, arguments[i]);
      *positional.target = arguments[i];
    } else if (positional.required) {
      throw Error(Category::usage, fmt::format("{} is missing; usage: {}", positional.placeholder, usage_));
    }
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
    if (value.empty() || is_internal_variable(variable) || describes_service(variable)) continue;
    if (find(name) != nullptr && variable == variable_name(name)) {
      values.insert({name, {value, variable}});
    } else if (!ignored_.contains(name) && name != "config") {
      const std::string close = nearest(name, names());
      if (close.empty() && is_option_ && is_option_(name)) continue;
      throw Error(Category::usage,
                  fmt::format("unknown environment variable {}{}", in_quotes(variable),
                              close.empty() ? "" : "; did you mean " + variable_name(close) + "?"));
    }
  }
}

void OptionSet::read_files(Values& values) {
  if (const auto config = values.find("config"); config != values.end()) {
    origins_["config"] = config->second.origin;
    explain([&] { read_file(config->second.value, values); });
  }
  const auto given = values.find(config_option_);
  if (given == values.end()) return;
  const std::string file = config_of_option_(given->second.value);
  if (file.empty()) return;
  // `device = cuda` of the run's file is left out, as the run may continue on a host without GPUs.
  const bool device_is_given = values.contains("device");
  read_file(file, values);
  const auto device = values.find("device");
  if (device != values.end() && !device_is_given && device->second.value == "cuda") values.erase(device);
}

void OptionSet::read_file(const std::string& file, Values& values) {
  config_files_.push_back(file);
  read_entries(read_config(file), file, values);
}

void OptionSet::read_entries(const std::vector<ConfigEntry>& entries, const std::string& origin,
                             Values& values) const {
  for (const ConfigEntry& entry : entries) {
    const Option* option = find(entry.name);
    if (option != nullptr && option->value) {
      values.insert({entry.name, {entry.value, fmt::format("{}:{}: {}", origin, entry.line, entry.name)}});
    } else if (!ignored_.contains(entry.name)) {
      throw Error(Category::usage, fmt::format("{}:{}: unknown option {}{}", origin, entry.line,
                                               in_quotes(entry.name), suggestion(entry.name, names())));
    }
  }
}

Names OptionSet::replace_by_list(Values& values) const {
  if (replaced_.empty() || list_->empty()) return {};
  const auto is_typed = [](const Source& source) { return source.origin.starts_with("--"); };
  for (const std::string& name : replaced_) {
    if (const auto found = values.find(name); found != values.end() && is_typed(found->second)) {
      throw Error(Category::usage, fmt::format("both {} and {} are given: omit one of them",
                                               in_quotes(list_->front()), found->second.origin));
    }
    values.erase(name);
  }
  Names others;
  for (const auto& [name, source] : values) {
    if (!is_typed(source)) others.push_back(name);
  }
  return others;
}

Names OptionSet::read_recipe(Values& values) const {
  if (recipe_option_.empty()) return {};
  const Given given = given_in(values);
  std::string name = given(recipe_option_);
  if (!values.contains(recipe_option_) || name == find(recipe_option_)->default_value)
    name = config_files_.empty() ? choose_recipe_(given) : "";
  const char* const text = text_of_recipe_(name);
  if (text == nullptr) return {};  // an unknown name is refused when it is assigned
  const std::string origin = "recipe " + name;
  values[recipe_option_] = {name, "--" + recipe_option_};
  const Values others = values;
  read_entries(parse_config(text, origin), origin, values);
  Names added;
  for (const auto& [option, source] : values) {
    if (!others.contains(option)) added.push_back(option);
  }
  return added;
}

void OptionSet::reset_idle(const Names& names) {
  for (bool changed = true; changed;) {  // an option may need another option that is reset
    changed = false;
    const std::vector<OptionText> all = texts();
    for (const OptionText& text : all) {
      const bool is_named = std::ranges::find(names, text.field.name) != names.end();
      if (!is_named || text.is_default() || has_effect(all, text)) continue;
      find(text.field.name)->assign(text.default_value);
      changed = true;
    }
  }
}

const OptionSet::Option* OptionSet::find(std::string_view name) const {
  const auto found = std::ranges::find_if(options_, [&](const Option& o) { return o.field.name == name; });
  return found == options_.end() ? nullptr : &*found;
}

std::string OptionSet::origin(const std::string& name) const {
  if (const auto found = origins_.find(name); found != origins_.end()) return found->second;
  return find(name) != nullptr ? "--" + name : "";
}

std::string OptionSet::file_of(const std::string& name) const {
  const std::string place = origin(name);
  const auto is_in = [&](const std::string& file) { return place.starts_with(file + ":"); };
  const auto found = std::ranges::find_if(config_files_, is_in);
  return found == config_files_.end() ? "" : *found;
}

std::string OptionSet::value_of(const std::string& name) const {
  const Option* const option = find(name);
  return option != nullptr && option->value ? option->value() : "";
}

void OptionSet::reset(const std::string& name) {
  const Option* const option = find(name);
  option->assign(option->default_value);
}

std::vector<std::string> OptionSet::names() const {
  std::vector<std::string> result;
  for (const Option& option : options_) {
    if (option.value) result.emplace_back(option.field.name);
  }
  return result;
}

std::vector<OptionText> OptionSet::texts() const {
  std::vector<OptionText> result;
  for (const auto& texts : texts_) {
    for (OptionText& text : texts()) result.push_back(std::move(text));
  }
  return result;
}

std::vector<Line> OptionSet::lines_to_compare() const { return lockstep::lines_to_compare(texts()); }

std::string OptionSet::config() const {
  const std::vector<OptionText> all = texts();
  const auto is_idle = [&](std::string_view name) {
    const auto same = [&](const OptionText& text) { return text.field.name == name; };
    const auto found = std::ranges::find_if(all, same);
    return found->is_default() && !has_effect(all, *found);
  };
  std::string text;
  std::string group;
  for (const Option& option : options_) {
    const std::string value = option.value ? option.value() : "";
    if (value.empty() || is_idle(option.field.name)) continue;
    if (option.group != group) text += fmt::format("{}# {}\n", text.empty() ? "" : "\n", option.group);
    group = option.group;
    text += fmt::format("{} = {}\n", option.field.name, config_value(value));
  }
  return text;
}

}  // namespace lockstep
