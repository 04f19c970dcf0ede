#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "cli/options/option_set.h"
#include "lockstep/world.h"

namespace lockstep {

/// Receives the options of a command, which end with the call.
using OptionSetReader = std::function<void(const OptionSet&)>;

/// One subcommand. Help, completion and manual pages follow from the list of all.
struct Command {
  const char* name;     ///< a word, or two: "data pack"
  const char* summary;  ///< a line, in lower case
  /// Gets argv[0] = the last word of its name and returns the exit status; may throw Error.
  int (*run)(int argc, char** argv);
  /// Calls the reader with the options.
  void (*describe)(const OptionSetReader& read);
  /// Whether only the first process runs it. If another one failed, mpirun would end the first one, perhaps
  /// before that has printed the reason.
  bool first_only = false;
};

/// All subcommands, in the order of --help.
const std::vector<Command>& commands();

/// The command that the words begin with, "data pack" before "data"; null: none.
const Command* find_command(std::span<char* const> words);

/// Implements Command::describe by the function that adds `Options` to an OptionSet.
template <class Options>
void describe(OptionSet (*set_of)(Options&), const OptionSetReader& read) {
  Options options;
  read(set_of(options));
}

int run_train(int argc, char** argv);
void describe_train(const OptionSetReader& read);
int run_eval(int argc, char** argv);
void describe_eval(const OptionSetReader& read);
int run_predict(int argc, char** argv);
void describe_predict(const OptionSetReader& read);
int run_bench(int argc, char** argv);
void describe_bench(const OptionSetReader& read);
int run_doctor(int argc, char** argv);
void describe_doctor(const OptionSetReader& read);
int run_inspect(int argc, char** argv);
void describe_inspect(const OptionSetReader& read);
int run_data(int argc, char** argv);
void describe_data(const OptionSetReader& read);
int run_data_pack(int argc, char** argv);
void describe_data_pack(const OptionSetReader& read);
int run_recipes(int argc, char** argv);
void describe_recipes(const OptionSetReader& read);
int run_report(int argc, char** argv);
void describe_report(const OptionSetReader& read);
int run_diff(int argc, char** argv);
void describe_diff(const OptionSetReader& read);
int run_export(int argc, char** argv);
void describe_export(const OptionSetReader& read);
int run_import(int argc, char** argv);
void describe_import(const OptionSetReader& read);
int run_completion(int argc, char** argv);
void describe_completion(const OptionSetReader& read);
int run_man(int argc, char** argv);
void describe_man(const OptionSetReader& read);

/// Runs a command on all ranks: prints --help if it is asked for; otherwise reads the options of `set`,
/// compares them between ranks and calls `body`. Returns the exit status.
int run_on_ranks(OptionSet& set, int argc, char** argv, const std::function<int(World&)>& body);

/// Prints `text` on the first process only. Returns exit status 0.
int print_help(const std::string& text);

/// Whether this process prints: rank 0, according to the environment of the launcher, as MPI may not run yet.
bool is_first_process();

}  // namespace lockstep
