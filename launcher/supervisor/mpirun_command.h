#pragma once

#include <functional>
#include <string>
#include <vector>

#include "supervisor/mpirun_options.h"

namespace lockstep::launcher {

/// Facts about this machine and the environment that decide options of mpirun.
struct Machine {
  int cores = 0;           ///< usable_cores; 0: unknown
  int processors = 0;      ///< available_processors
  int nodes = 1;           ///< NUMA nodes of these processors
  bool scheduled = false;  ///< whether Slurm, PBS or LSF names the hosts
  std::string host{};      ///< name
};

Machine this_machine();

/// Whether mpirun would refuse the ranks: it counts cores, not hardware threads. If the user or a scheduler
/// names the hosts, their numbers of slots decide.
bool needs_oversubscribe(const MpirunOptions& options, const Machine& machine);

/// Hosts other than this one in the lists and files of hosts.
std::vector<std::string> other_hosts(const MpirunOptions& options, const Machine& machine);

/// Whether no scheduler and no list or file of hosts names a host other than this one.
bool is_only_here(const MpirunOptions& options, const Machine& machine);

/// Throws Error(usage) for more than 8 ranks for each processor, unless --oversubscribe is given. Where hosts
/// other than this one take part, or a scheduler names them, mpirun's slots decide.
void check_number_of_ranks(const MpirunOptions& options, const Machine& machine);

/// Whether neither the user nor a scheduler says how many ranks to start, or where.
bool leaves_ranks_open(const MpirunOptions& options, const Machine& machine);

/// Number of ranks on a host if it is left open: one per GPU, unless `command` computes on the CPU; without
/// GPUs, one per NUMA node, whose threads share the memory of the node. `nodes` and `count_gpus`: numbers of
/// the host's NUMA nodes and GPUs.
int default_ranks(const std::vector<std::string>& command, int nodes, const std::function<int()>& count_gpus);

/// Parts of the command line that starts mpirun.
struct Start {
  std::string mpirun;                  ///< path
  std::string program;                 ///< path of lockstep
  std::vector<std::string> variables;  ///< names of variables that ranks on other hosts get too
  MpirunOptions options;               ///< the user's
  std::vector<std::string> command;    ///< of lockstep
};

/// Command line of mpirun, with the options that lockstep needs. Those of the user come later and win.
std::vector<std::string> mpirun_command(const Start& start, const Machine& machine);

/// Words that start a command on another host, before the host's name: those that mpirun uses for its
/// daemons, Open MPI's parameters plm_rsh_agent and plm_rsh_args, by default ssh. ssh then asks nothing and
/// connects within 10 s. Throws Error(resource) if there is no such program.
std::vector<std::string> remote_shell(const MpirunOptions& options);

/// Full path of an executable: in one of `folders`, then in those of PATH; empty: there is none.
std::string find_program(const std::string& name, const std::vector<std::string>& folders);

}  // namespace lockstep::launcher
