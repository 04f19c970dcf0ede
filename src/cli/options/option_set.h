#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/options/check.h"
#include "lockstep/error.h"

namespace lockstep {

/// The options of one subcommand. From their descriptions (lockstep/field.h) they are read from the command
/// line, from LOCKSTEP_NAME in the environment and from a configuration file (the first of these that has one
/// wins), checked, written back as such a file, compared between ranks, and explained by --help.
///
///   EvalOptions options;
///   OptionSet set("lockstep eval [options] MODEL", "Measures loss and accuracy of a saved model.");
///   set.add(options);
///   set.positional("MODEL", "model file", options.file);
///   if (!set.parse(argc, argv, environ)) return print_help(set.help());
///
/// Targets must outlive the set; what they hold when added is the default that --help shows.
class OptionSet {
 public:
  OptionSet(std::string usage, std::string summary);

  /// All options of a struct.
  template <class Options>
  void add(Options& options) {
    visit(options, [this](auto& value, const Field& field) { this->add(value, field); });
    texts_.push_back([&options] { return texts_of(options); });
  }
  /// Adds --config FILE.
  void config_file();
  /// An argument without a name; all declared so are required, in order.
  void positional(std::string placeholder, std::string help, std::string& target);
  /// The last of them, which may be missing.
  void optional_positional(std::string placeholder, std::string help, std::string& target);
  /// Names that other subcommands know: ignored in the environment and in configuration files, unless this
  /// one has them too.
  void ignore(const std::vector<std::string>& names);
  /// Checks over several options, at the end of `parse`; throws Error(usage).
  void check(std::function<void()> check);
  /// Text before the options in --help, e.g. examples, and after them.
  void prologue(std::string text);
  void epilogue(std::string text);

  /// Reads all sources into the targets, and checks them. argv[0] is the subcommand's name; `environment` is
  /// as environ, or null for none. An empty environment variable counts as absent. False when --help or -h is
  /// among the arguments: nothing has been read then. Throws Error(usage) naming the option, the variable, or
  /// the file and line; the value; and, for an unknown name, the nearest one that is known.
  bool parse(int argc, const char* const* argv, const char* const* environment);

  /// What `body` returns. An Error that it throws about an option begins with where the value came from:
  /// "--lr", "LOCKSTEP_LR", "run.cfg:3: lr".
  template <class Body>
  auto explain(const Body& body) const {
    try {
      return body();
    } catch (Error& error) {
      if (const std::string place = origin(error.field()); !place.empty()) error.locate(place);
      throw;
    }
  }

  /// Text of --help, lines of at most 100 columns; options with the same heading are together.
  std::string help() const;
  /// The targets' present values as a configuration file that reads back to the same values.
  std::string config() const;
  /// The same for check_same.
  std::vector<Line> lines_to_compare() const;
  /// Names of the options that may stand in a configuration file.
  std::vector<std::string> names() const;

 private:
  struct Option {
    Field field;
    std::string group;
    std::string placeholder;  ///< empty: a switch
    Names choices;
    std::function<void(const std::string&)> assign;  ///< throws Error without the option's name
    std::function<std::string()> value;              ///< null: not for configuration files
    std::string default_value;
    bool repeats = false;  ///< values of several occurrences on the command line are joined by commas
  };
  struct Positional {
    std::string placeholder;
    std::string help;
    std::string* target;
    bool required = true;
  };
  /// A value and how errors name the place it came from.
  struct Source {
    std::string value;
    std::string origin;
  };
  using Values = std::map<std::string, Source>;

  template <class T>
  void add(T& value, const Field& field);
  void insert(Option option);
  bool read_command_line(int argc, const char* const* argv, Values& values) const;
  /// Moves `--switch=false` from `tokens` to `values`.
  void take_switch_values(std::vector<std::string>& tokens, Values& values) const;
  void take(Values& values, const std::string& name, std::string value) const;
  [[noreturn]] void reject_unknown(const std::string& token) const;
  void read_environment(const char* const* environment, Values& values) const;
  void read_file(const std::string& file, Values& values) const;
  void assign_positionals(const std::vector<std::string>& arguments) const;
  const Option* find(std::string_view name) const;
  bool is_ignored(std::string_view name) const;
  /// Descriptions as they are now: a scope may depend on other options.
  std::vector<OptionText> texts() const;
  /// Place of the value that the option has; empty for a name that is no option.
  std::string origin(const std::string& name) const;

  std::string usage_;
  std::string summary_;
  std::string prologue_;
  std::string epilogue_;
  std::string group_ = "Options";  ///< of the option that was added last
  std::vector<Option> options_;
  std::vector<Positional> positionals_;
  std::vector<std::string> ignored_;
  std::vector<std::function<std::vector<OptionText>()>> texts_;
  std::vector<std::function<void()>> checks_;
  std::map<std::string, std::string> origins_;  ///< of options that were given, by name
};

template <class T>
void OptionSet::add(T& value, const Field& field) {
  Option option{.field = field,
                .group = {},
                .placeholder = placeholder_of(value, field),
                .choices = {},
                .assign = [&value, field](const std::string& text) { from_text(text, field, value); },
                .value = [&value, field] { return to_text(value, field); },
                .default_value = {}};
  if (field.choices != nullptr) option.choices = field.choices();
  if constexpr (NamedEnum<T>) option.choices = choices_of(value);
  option.repeats = std::same_as<T, Names>;
  insert(std::move(option));
}

}  // namespace lockstep
