#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/options/option_set.h"
#include "lockstep/world.h"

namespace lockstep {

/// One subcommand. `run` gets argv[0] = its name and returns the exit status; it may throw Error.
struct Command {
  const char* name;
  const char* summary;
  int (*run)(int argc, char** argv);
};

/// All subcommands, in the order of --help.
const std::vector<Command>& commands();

int run_train(int argc, char** argv);
int run_eval(int argc, char** argv);
int run_bench(int argc, char** argv);
int run_doctor(int argc, char** argv);
int run_inspect(int argc, char** argv);
int run_data(int argc, char** argv);
int run_data_pack(int argc, char** argv);  ///< called by run_data; argv[0] is "pack"
int run_report(int argc, char** argv);
int run_diff(int argc, char** argv);

/// Runs a command on all ranks: prints --help if it is asked for; otherwise reads the options of `set`,
/// compares them between ranks and calls `body`. Returns the exit status.
int run_on_ranks(OptionSet& set, int argc, char** argv, const std::function<int(World&)>& body);

/// Prints `text` on the first process only. Returns exit status 0.
int print_help(const std::string& text);

/// Whether this process prints: rank 0, according to the environment of the launcher, as MPI may not run yet.
bool is_first_process();

}  // namespace lockstep
