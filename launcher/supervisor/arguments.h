#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "supervisor/mpirun_options.h"

namespace lockstep::launcher {

/// When a run that failed is started again.
struct RestartOptions {
  int maximum = 0;                 ///< number of restarts
  std::optional<int> min_ranks{};  ///< number of ranks below which it does not go; none: 1
};

/// Command line of lockstep-run: its own options and mpirun's, in any order, then lockstep's command.
struct Arguments {
  bool help = false;
  bool version = false;
  RestartOptions restarts;
  std::chrono::seconds grace{30};  ///< time that ranks have to stop on request
  bool check = false;              ///< whether to ask the hosts, and start nothing
  std::string interface;           ///< by which hosts reach each other; empty: to be found
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

/// Throws Error(usage) if --min-ranks is given and the number of ranks is unknown, or smaller than it.
void check_min_ranks(const Arguments& arguments);

/// Names of the options that are neither mpirun's nor lockstep's, without dashes.
std::vector<std::string> own_options();

/// Whether lockstep has a subcommand of this name.
bool is_subcommand(std::string_view word);

/// Whether `command` needs no other ranks: it asks for help, or each process runs it by itself.
bool needs_one_rank(const std::vector<std::string>& command);

/// Text of --help, in lines of up to 100 columns.
std::string help();

}  // namespace lockstep::launcher
