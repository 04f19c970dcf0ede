#pragma once

#include <unistd.h>

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "cli/options/command_help.h"
#include "cli/options/option_set.h"
#include "lockstep/world.h"

namespace lockstep {

/// A subcommand. Help, completion and manual pages are generated from the list of all subcommands.
struct Command {
  const char* name;     ///< one word, or two: "data pack"
  const char* summary;  ///< one line, in lower case
  /// Runs the command. argv[0] is the last word of its name. Returns the exit status; may throw Error.
  int (*run)(int argc, char** argv);
  CommandHelp (*describe)();
  /// Whether each process runs the command independently of other ranks: the tasks of a job may run different
  /// commands. lockstep-run starts a single process for such a command.
  bool is_alone = false;
};

/// All subcommands, in the order of --help.
const std::vector<Command>& commands();

/// The command that `words` begin with, "data pack" rather than "data"; null: none.
const Command* find_command(std::span<char* const> words);

/// One constant per command, defined next to the function that runs the command.
extern const Command train_command, eval_command, predict_command, bench_command, doctor_command,
    inspect_command, data_command, data_pack_command, recipes_command, report_command, diff_command,
    export_command, import_command, completion_command, man_command;

/// Names of the options of `lockstep train`, which the other commands ignore in configuration files and in
/// the environment.
std::vector<std::string> train_option_names();

/// Whether any command has an option of this name. Commands without the option ignore its environment
/// variable.
bool is_option(const std::string& name);

/// Implements Command::describe with `set_of`, which adds `Options` to an OptionSet.
template <class Options, OptionSet (*set_of)(Options&)>
CommandHelp describe() {
  Options options;
  return set_of(options).describe();
}

/// Runs a command on all ranks: prints the help if --help is given; otherwise reads the options of `set`,
/// compares them between ranks and calls `body`. Returns the exit status.
int run_on_ranks(OptionSet& set, int argc, char** argv, const std::function<int(World&)>& body);

/// Prints `text`. Returns exit status 0.
int print_help(const std::string& text);

/// A command that all ranks run. `body` receives the option values and returns the exit status.
template <class Options, OptionSet (*set_of)(Options&), int (*body)(World&, const Options&)>
constexpr Command command_of_ranks(const char* name, const char* summary) {
  const auto run = [](int argc, char** argv) {
    Options options;
    OptionSet set = set_of(options);
    set.ignore(train_option_names());
    set.ignore_variables(is_option);
    return run_on_ranks(set, argc, argv, [&](World& world) { return body(world, options); });
  };
  return {name, summary, run, describe<Options, set_of>};
}

/// A command that each process runs independently. `body` receives the option values and returns the exit
/// status.
template <class Options, OptionSet (*set_of)(Options&), int (*body)(const Options&)>
constexpr Command command_of_one_process(const char* name, const char* summary) {
  const auto run = [](int argc, char** argv) {
    Options options;
    OptionSet set = set_of(options);
    set.ignore(train_option_names());
    set.ignore_variables(is_option);
    if (!set.parse(argc, argv, environ)) return print_help(set.help());
    return set.explain([&] { return body(options); });
  };
  return {
      .name = name, .summary = summary, .run = run, .describe = describe<Options, set_of>, .is_alone = true};
}

/// Whether this process prints for all ranks: it is rank 0 according to the launcher's environment variables,
/// as MPI may not be running yet.
bool is_first_process();

}  // namespace lockstep
