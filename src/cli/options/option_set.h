#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/options/command_help.h"
#include "cli/options/config_file.h"
#include "core/options/check.h"
#include "lockstep/error.h"

namespace lockstep {

/// Whether --help or -h is among the arguments after argv[0] and before `--`.
bool wants_help(int argc, const char* const* argv);

/// Option value, as text, that another source implies, such as a model file.
struct ImpliedValue {
  std::string name;
  std::string value;
  std::string origin;        ///< for errors: "lenet.safetensors"
  bool contradicts = false;  ///< whether to warn if a different value is given
};

/// Options of one subcommand, from their descriptions (lockstep/field.h). They are read from the command
/// line, from LOCKSTEP_NAME in the environment, from --config, from the configuration file of a run and from
/// a recipe, in this order of precedence. They are also checked, written back as a configuration file,
/// compared between ranks, and explained by --help.
///
///   EvalOptions options;
///   OptionSet set("lockstep eval [options] MODEL", "Measures loss and accuracy of a saved model.");
///   set.add(options);
///   set.positional("MODEL", "model file", options.file);
///   if (!set.parse(argc, argv, environ)) return print_help(set.help());
///
/// Targets must outlive the set; their values when added are the defaults that --help shows.
class OptionSet {
 public:
  OptionSet(std::string usage, std::string summary)
      : usage_(std::move(usage)), summary_(std::move(summary)) {}

  /// Adds all options of a struct.
  template <class Options>
  void add(Options& options) {
    visit(options, [this](auto& value, const Field& field) { this->add(value, field); });
    texts_.push_back([&options] { return texts_of(options); });
  }
  /// Adds --config FILE.
  void config_file();
  /// If `option` is given, options without another source are read from the configuration file that
  /// file(value) names; an empty name means no file. `device = cuda` in that file is ignored, as the run may
  /// continue on a host without GPUs.
  void config_of(std::string option, std::function<std::string(const std::string& value)> file) {
    config_option_ = std::move(option);
    config_of_option_ = std::move(file);
  }
  /// Text that was given for an option; empty: none was given.
  using Given = std::function<std::string(const std::string& name)>;
  /// Uses the values of implied(given) for options that have no other source, such as those stored in a file
  /// that an argument names. Called once the arguments and all other sources are known. Options that this set
  /// does not have are ignored.
  void imply(std::function<std::vector<ImpliedValue>(const Given& given)> implied) {
    implied_ = std::move(implied);
  }
  /// Lets `auto` stand for values that are computed from the training samples (Field::by_data). Must be
  /// called before add().
  void accept_by_data() { accepts_by_data_ = true; }
  /// Lets the option `option` name a recipe: a configuration file that all other sources override, and whose
  /// options are dropped if they then have no effect. If the option has its default and no configuration file
  /// was read, `choose` returns the name of the recipe; empty: none. `text_of`: text of the recipe NAME;
  /// null: there is no such recipe. After parse() the option's value is the recipe's name.
  void recipes(std::string option, std::function<std::string(const Given& given)> choose,
               std::function<const char*(const std::string& name)> text_of) {
    recipe_option_ = std::move(option);
    choose_recipe_ = std::move(choose);
    text_of_recipe_ = std::move(text_of);
  }
  /// Adds a required positional argument. Positional arguments are given in the order of these calls.
  void positional(std::string placeholder, std::string help, std::string& target) {
    positionals_.push_back({std::move(placeholder), std::move(help), &target});
  }
  /// Adds a required positional argument that is one of `choices`. `noun`: word for a choice in errors.
  void choice(std::string noun, const Names& choices, std::string help, std::string& target);
  /// Adds an optional last positional argument: one of `choices`, or any text if they are empty. `noun`: word
  /// for a choice in errors.
  void optional_positional(std::string placeholder, std::string help, std::string& target,
                           std::string noun = {}, Names choices = {}) {
    positionals_.push_back(
        {std::move(placeholder), std::move(help), &target, false, std::move(choices), std::move(noun)});
  }
  /// Accepts any number of further positional arguments. If some are given, the options `replaced` are
  /// refused on the command line and ignored in other sources. Options from other sources that then have no
  /// effect are ignored, too.
  void list(std::string placeholder, std::string help, std::vector<std::string>& targets,
            Names replaced = {}) {
    positionals_.push_back({std::move(placeholder), std::move(help), nullptr, false});
    list_ = &targets;
    replaced_ = std::move(replaced);
  }
  /// Ignores options of other subcommands in the environment and in configuration files, unless this set has
  /// them, too.
  void ignore(const std::vector<std::string>& names) { ignored_.insert(names.begin(), names.end()); }
  /// Ignores environment variables of other subcommands' options, which is_option(name) recognises. A name
  /// that is close to an option of this set is still an error, as that option may be meant.
  void ignore_variables(std::function<bool(const std::string& name)> is_option) {
    is_option_ = std::move(is_option);
  }
  /// Adds a check over several options, which throws Error(usage). `parse` calls it at its end.
  void check(std::function<void()> check) { checks_.push_back(std::move(check)); }
  /// Sets the text before the options in --help, such as examples.
  void prologue(std::string text) { prologue_ = std::move(text); }
  /// Sets the text after the options in --help.
  void epilogue(std::string text) { epilogue_ = std::move(text); }

  /// Reads all sources into the targets and checks them. Returns false, without reading anything, if --help
  /// or -h is among the arguments. argv[0] is the name of the subcommand; `environment` is like environ, or
  /// null for none. Empty environment variables are ignored. Throws Error(usage) with the option, the
  /// variable, or the file and line; the value; and, for an unknown name, the nearest known one.
  bool parse(int argc, const char* const* argv, const char* const* environment);

  /// Whether the command line, the environment or a configuration file sets the option, even to its default.
  bool is_given(const std::string& name) const { return given_.contains(name); }
  /// Configuration file that sets the option; empty: none does.
  std::string file_of(const std::string& name) const;
  /// Text of the option's value; empty: there is no such option.
  std::string value_of(const std::string& name) const;
  /// Origin of the option's value, as errors name it; empty: no such option.
  std::string origin(const std::string& name) const;
  /// Sets the option to its default.
  void reset(const std::string& name);
  /// Configuration files that parse() has read.
  const std::vector<std::string>& config_files() const { return config_files_; }
  /// Sentences about options that were given although a different value with `contradicts` is implied.
  const std::vector<std::string>& contradictions() const { return contradictions_; }
  /// Returns the result of `body`. An Error about an option that `body` throws is changed to begin with the
  /// origin of the option's value: "--lr", "LOCKSTEP_LR", "run.cfg:3: lr".
  template <class Body>
  auto explain(const Body& body) const {
    try {
      return body();
    } catch (Error& error) {
      if (const std::string place = origin(error.field()); !place.empty()) error.locate(place);
      throw;
    }
  }

  /// Human-readable description of the options.
  CommandHelp describe() const;
  /// Text of --help.
  std::string help() const { return help_text(describe()); }
  /// The current values as a configuration file that reads back to the same values. Options that have their
  /// default and no effect are left out.
  std::string config() const;
  /// Values that check_same compares between ranks.
  std::vector<Line> lines_to_compare() const;
  /// Names of the options that are allowed in a configuration file.
  std::vector<std::string> names() const;

 private:
  struct Option {
    Field field;
    std::string group = {};
    std::string placeholder;                         ///< empty: a switch
    Names choices = {};                              ///< choices that --help lists
    std::function<void(const std::string&)> assign;  ///< throws Error without the option's name
    std::function<std::string()> value = nullptr;    ///< null: not for configuration files
    std::string default_value = {};
    bool is_path = false;  ///< whether the value names a file or a folder
    bool repeats = false;  ///< whether the option may be repeated; its values are then joined by commas
  };
  struct Positional {
    std::string placeholder;
    std::string help;
    std::string* target;  ///< null for the list
    bool required = true;
    Names choices = {};  ///< empty: any text
    std::string noun = {};
  };
  /// Value with its origin, as errors name it.
  struct Source {
    std::string value;
    std::string origin;
  };
  using Values = std::map<std::string, Source>;

  template <class T>
  void add(T& value, const Field& described);
  void insert(Option option);
  void read_command_line(int argc, const char* const* argv, Values& values) const;
  /// Moves arguments such as `--switch=false` that precede `--` from `tokens` to `values`.
  void take_switch_values(std::vector<std::string>& tokens, Values& values) const;
  void take(Values& values, const std::string& name, std::string value) const;
  [[noreturn]] void reject_unknown(const std::string& token) const;
  void read_environment(const char* const* environment, Values& values) const;
  void read_files(Values& values);
  void read_file(const std::string& file, Values& values);
  /// Removes the options that the list of arguments replaces. Returns the names of the options that may then
  /// have no effect: all that are not from the command line.
  Names replace_by_list(Values& values) const;
  static Given given_in(const Values& values);
  /// Adds implied values of options that have no other source. Returns those with `contradicts` whose option
  /// has one.
  std::vector<ImpliedValue> add_implied(Values& values) const;
  void read_entries(const std::vector<ConfigEntry>& entries, const std::string& origin, Values& values) const;
  /// Adds the recipe's values of options that have no other source. Returns the names of these options.
  Names read_recipe(Values& values) const;
  /// Resets the options among `names` that have no effect to their defaults.
  void reset_idle(const Names& names);
  /// Throws as check_needs does. The message advises switching the recipe off if a recipe's option is at
  /// fault. If another source overrides a value of a configuration file, and thus leaves an option of that
  /// file without effect, the message names the overriding option.
  void check_requirements(const Names& of_recipe) const;
  void assign_positionals(const std::vector<std::string>& arguments) const;
  const Option* find(std::string_view name) const;
  /// Current values and descriptions; a scope may depend on the value of another option.
  std::vector<OptionText> texts() const;

  std::string usage_;
  std::string summary_;
  std::string prologue_;
  std::string epilogue_;
  std::string group_ = "Options";  ///< group of the option that was added last
  std::vector<Option> options_;
  std::vector<Positional> positionals_;
  std::vector<std::string>* list_ = nullptr;  ///< receives all later arguments; null: not allowed
  Names replaced_;                            ///< options that the list replaces
  std::set<std::string> ignored_;
  std::function<bool(const std::string&)> is_option_;
  std::vector<std::function<std::vector<OptionText>()>> texts_;
  std::vector<std::function<void()>> checks_;
  std::string config_option_;
  std::vector<std::string> config_files_;
  std::function<std::string(const std::string&)> config_of_option_;
  std::function<std::vector<ImpliedValue>(const Given&)> implied_;
  std::set<std::string> given_;
  std::vector<std::string> contradictions_;
  bool accepts_by_data_ = false;
  std::string recipe_option_;
  std::function<std::string(const Given&)> choose_recipe_;
  std::function<const char*(const std::string&)> text_of_recipe_;
  std::map<std::string, std::string> origins_;  ///< origins of all values but defaults, by name
};

template <class T>
void OptionSet::add(T& value, const Field& described) {
  if (!described.visible) return;
  Field field = described;
  if (!accepts_by_data_) field.by_data = "";
  Option option{.field = field,
                .placeholder = placeholder_of(value, field),
                .assign = [&value, field](const std::string& text) { from_text(text, field, value); },
                .value = [&value, field] { return to_text(value, field); }};
  if (field.choices != nullptr) option.choices = field.choices();
  if constexpr (NamedEnum<T>) option.choices = choices_of(value);
  std::erase(option.choices, field.unlisted);
  option.repeats = std::same_as<T, Names>;
  insert(std::move(option));
}

}  // namespace lockstep
