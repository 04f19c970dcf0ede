#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "supervisor/mpirun_options.h"

namespace lockstep::launcher {

/// Limits for restarts of a run that failed.
struct RestartOptions {
  int maximum = 0;                 ///< number of restarts
  std::optional<int> min_ranks{};  ///< smallest number of ranks to continue with; none: 1
};

/// Command line of lockstep-run: options of lockstep-run and of mpirun, in any order, then lockstep's
/// command.
struct Arguments {
  bool help = false;
  bool version = false;
  RestartOptions restarts;
  std::chrono::seconds grace{30};  ///< time that ranks have to stop on request
  bool check = false;              ///< whether to ask the hosts, and start nothing
  std::string interface;           ///< network between hosts; empty: chosen automatically
  MpirunOptions mpirun;
  std::vector<std::string> before_command;  ///< the words before the command, as given
  std::vector<std::string> command;         ///< "train", "--lr", "0.2", ...

  /// First word of the command; empty: there is none.
  std::string subcommand() const { return command.empty() ? "" : command[0]; }
};

/// Reads the words after the program's name. Throws Error(usage) if there are words but no command, for a
/// word before the command that is neither an option nor a value of one, for an option of another launcher,
/// and if -np or an option of lockstep-run has a wrong value or no effect. Without any word, and with
/// `check`, `command` may be empty.
Arguments parse_arguments(std::span<const char* const> words);

/// Throws Error(usage) if --min-ranks is given and the number of ranks is unknown or smaller.
void check_min_ranks(const Arguments& arguments);

/// Names of the options of lockstep-run itself, without dashes.
std::vector<std::string> own_options();

/// Whether lockstep has a subcommand of this name.
bool is_subcommand(std::string_view word);

/// Whether `command` needs only one rank: it asks for help, or does not use other ranks.
bool needs_one_rank(const std::vector<std::string>& command);

/// Text of --help, in lines of up to 100 columns.
std::string help();

}  // namespace lockstep::launcher
