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

/// One subcommand. Help, completion and manual pages follow from the list of all.
struct Command {
  const char* name;     ///< a word, or two: "data pack"
  const char* summary;  ///< a line, in lower case
  /// Gets argv[0] = the last word of its name and returns the exit status; may throw Error.
  int (*run)(int argc, char** argv);
  CommandHelp (*describe)();
  /// Whether each process runs it by itself, as it needs no other ranks: the tasks of a job may run
  /// different commands. lockstep-run starts a single process for it.
  bool is_alone = false;
};

/// All subcommands, in the order of --help.
const std::vector<Command>& commands();

/// The command that the words begin with, "data pack" before "data"; null: none.
const Command* find_command(std::span<char* const> words);

/// One constant for each, defined beside the function that runs it.
extern const Command train_command, eval_command, predict_command, bench_command, doctor_command,
    inspect_command, data_command, data_pack_command, recipes_command, report_command, diff_command,
    export_command, import_command, completion_command, man_command;

/// Names of the options of `lockstep train`, which the other commands ignore in configuration files and in
/// the environment.
std::vector<std::string> train_option_names();

/// Whether some command has an option of this name. The others ignore its variable in the environment.
bool is_option(const std::string& name);

/// Implements Command::describe by the function that adds `Options` to an OptionSet.
template <class Options, OptionSet (*set_of)(Options&)>
CommandHelp describe() {
  Options options;
  return set_of(options).describe();
}

/// Runs a command on all ranks: prints --help if it is asked for; otherwise reads the options of `set`,
/// compares them between ranks and calls `body`. Returns the exit status.
int run_on_ranks(OptionSet& set, int argc, char** argv, const std::function<int(World&)>& body);

/// Prints `text`. Returns exit status 0.
int print_help(const std::string& text);

/// A command that all ranks run: `body` gets the values of the options, and returns the exit status.
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

/// A command that each process runs by itself: `body` gets the values of the options, and returns the exit
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

/// Whether this process prints for all ranks: rank 0, according to the environment of the launcher, as MPI
/// may not run yet.
bool is_first_process();

}  // namespace lockstep
