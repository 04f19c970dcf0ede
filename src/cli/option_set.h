#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/option_value.h"

namespace lockstep {

/// The options of one subcommand: declared once, they are read from the command line, from LOCKSTEP_KEY in
/// the environment and from a configuration file (the first of these that has one wins), written back as
/// such a file, and explained by --help.
///
///   EvalOptions options;
///   OptionSet set("lockstep eval [options] MODEL", "Measures loss and accuracy of a saved model.");
///   set.group("Model and data");
///   set.text("dataset", "NAME", "data set to evaluate on", options.dataset);
///   set.positional("MODEL", "model file", options.model);
///   if (!set.parse(argc, argv, environ)) return print_help(set.help());
///
/// Targets must outlive the set; what they hold when declared is the default that --help shows.
class OptionSet {
 public:
  OptionSet(std::string usage, std::string summary);

  /// Options declared from now on are listed under `title`.
  void group(std::string title);
  void text(std::string name, std::string metavar, std::string help, std::string& target);
  template <std::integral T>
  void integer(std::string name, std::string metavar, std::string help, T& target,
               IntegerRange range = {.min = 0, .max = std::numeric_limits<T>::max()});
  /// A whole number, or the word `word` for 0.
  template <std::integral T>
  void integer_or(std::string word, std::string name, std::string help, T& target, IntegerRange range);
  /// A real number, by default not negative.
  void number(std::string name, std::string metavar, std::string help, double& target,
              NumberRange range = {});
  /// Real numbers that are not negative, with commas between them; may be none.
  void numbers(std::string name, std::string metavar, std::string help, std::vector<double>& target);
  /// Texts with commas between them, or the option several times; may be none.
  void texts(std::string name, std::string metavar, std::string help, std::vector<std::string>& target);
  /// Anything else: `assign` takes the text or throws Error(usage) without the option's name, `value` gives
  /// the text of the present value.
  void value(std::string name, std::string metavar, std::string help,
             std::function<void(const std::string&)> assign, std::function<std::string()> value);
  /// On the command line `--name` means true and `--name=false` false.
  void flag(std::string name, std::string help, bool& target);
  /// One of `names`, as text.
  void choice(std::string name, std::string help, std::string& target, std::vector<std::string> names);
  /// One of an enumeration's values by name.
  template <typename E>
  void choice(std::string name, std::string help, E& target, std::vector<std::pair<std::string, E>> values);
  /// Adds --config FILE.
  void config_file();
  /// An argument without a name; all declared so are required, in order.
  void positional(std::string metavar, std::string help, std::string& target);
  /// The last of them, which may be missing.
  void optional_positional(std::string metavar, std::string help, std::string& target);
  /// Names that other subcommands know: passed over in the environment and in configuration files, unless
  /// this one has declared them too.
  void pass_over(const std::vector<std::string>& names);
  /// Text after the options in --help, e.g. examples.
  void epilogue(std::string text);

  /// Reads all sources into the targets. argv[0] is the subcommand's name; `environment` is as environ, or
  /// null for none. An empty environment variable counts as absent. False when --help or -h is among the
  /// arguments: nothing has been read then. Throws Error(usage) naming the option, the variable, or the file
  /// and line; the value; and, for an unknown name, the nearest one that is known.
  bool parse(int argc, const char* const* argv, const char* const* environment);

  /// Text of --help, lines of at most 100 columns.
  std::string help() const;
  /// The targets' present values as a configuration file that reads back to the same values.
  std::string config() const;
  /// Names of the options that may stand in a configuration file.
  std::vector<std::string> names() const;

 private:
  struct Option {
    std::string name;
    std::string metavar;  ///< empty: a flag
    std::string help;
    std::function<void(const std::string&)> assign;  ///< throws Error without the option's name
    std::function<std::string()> value;              ///< null: not for configuration files
    std::string group;
    std::string default_value;
    bool repeats = false;  ///< values of several occurrences on the command line are joined by commas
  };
  struct Positional {
    std::string metavar;
    std::string help;
    std::string* target;
    bool required = true;
  };
  /// A value and how errors name the place it came from.
  struct Given {
    std::string value;
    std::string origin;
  };
  using Values = std::map<std::string, Given>;

  void add(Option option);
  bool read_command_line(int argc, const char* const* argv, Values& values) const;
  /// Moves `--flag=false` from `tokens` to `values`.
  void take_flag_values(std::vector<std::string>& tokens, Values& values) const;
  void take(Values& values, const std::string& name, std::string value) const;
  [[noreturn]] void reject_unknown(const std::string& token) const;
  void read_environment(const char* const* environment, Values& values) const;
  void read_file(const std::string& file, Values& values) const;
  void assign_positionals(const std::vector<std::string>& arguments) const;
  const Option* find(std::string_view name) const;
  bool known_elsewhere(std::string_view name) const;

  std::string usage_;
  std::string summary_;
  std::string epilogue_;
  std::string group_ = "Options";
  std::vector<Option> options_;
  std::vector<Positional> positionals_;
  std::vector<std::string> passed_over_;
};

template <std::integral T>
void OptionSet::integer(std::string name, std::string metavar, std::string help, T& target,
                        IntegerRange range) {
  add({.name = std::move(name),
       .metavar = std::move(metavar),
       .help = std::move(help),
       .assign =
           [&target, range](const std::string& text) {
             const ParsedInteger parsed = parse_integer(text, range);
             target = static_cast<T>(parsed.negative ? 0 - parsed.magnitude : parsed.magnitude);
           },
       .value = [&target] { return std::to_string(target); },
       .group = {},
       .default_value = {}});
}

template <std::integral T>
void OptionSet::integer_or(std::string word, std::string name, std::string help, T& target,
                           IntegerRange range) {
  add({.name = std::move(name),
       .metavar = "N|" + word,
       .help = std::move(help),
       .assign =
           [&target, range, word](const std::string& text) {
             target = text == word ? T{0} : static_cast<T>(parse_integer(text, range).magnitude);
           },
       .value = [&target, word] { return target == 0 ? word : std::to_string(target); },
       .group = {},
       .default_value = {}});
}

template <typename E>
void OptionSet::choice(std::string name, std::string help, E& target,
                       std::vector<std::pair<std::string, E>> values) {
  std::vector<std::string> names;
  for (const auto& [text, value] : values) names.push_back(text);
  std::string metavar;
  for (const std::string& text : names) metavar += (metavar.empty() ? "" : "|") + text;
  add({.name = std::move(name),
       .metavar = std::move(metavar),
       .help = std::move(help),
       .assign = [&target, values,
                  names](const std::string& text) { target = values[parse_choice(text, names)].second; },
       .value =
           [&target, values] {
             for (const auto& [text, value] : values) {
               if (value == target) return text;
             }
             return std::string();
           },
       .group = {},
       .default_value = {}});
}

}  // namespace lockstep
