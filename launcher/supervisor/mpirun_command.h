#pragma once

#include <functional>
#include <string>
#include <vector>

#include "supervisor/mpirun_options.h"

namespace lockstep::launcher {

/// Facts about this machine and its environment that determine options of mpirun.
struct Machine {
  int cores = 0;           ///< result of usable_cores(); 0: unknown
  int processors = 0;      ///< result of available_processors()
  int nodes = 1;           ///< number of NUMA nodes of these processors
  bool scheduled = false;  ///< whether Slurm, PBS or LSF names the hosts
  std::string host{};      ///< name of this machine
};

Machine this_machine();

/// Whether mpirun would refuse this number of ranks without --oversubscribe, because it counts cores, not
/// hardware threads. False if the user or a scheduler names the hosts, whose numbers of slots then decide.
bool needs_oversubscribe(const MpirunOptions& options, const Machine& machine);

/// Hosts other than this one in the lists and files of hosts.
std::vector<std::string> other_hosts(const MpirunOptions& options, const Machine& machine);

/// Whether no scheduler and no list or file of hosts names a host other than this one.
bool is_only_here(const MpirunOptions& options, const Machine& machine);

/// Throws Error(usage) for more than 8 ranks per processor, unless --oversubscribe, --map-by or a rankfile is
/// given. Does nothing if other hosts take part or a scheduler names the hosts: mpirun's slots decide.
void check_number_of_ranks(const MpirunOptions& options, const Machine& machine);

/// Whether neither the user nor a scheduler says how many ranks to start, or where.
bool leaves_ranks_open(const MpirunOptions& options, const Machine& machine);

/// Default number of ranks on a host: one per GPU; without GPUs or if `command` computes on the CPU, one per
/// NUMA node, so that the threads of a rank share the memory of a node. `nodes`: number of the host's NUMA
/// nodes; `count_gpus` returns the number of its GPUs.
int default_ranks(const std::vector<std::string>& command, int nodes, const std::function<int()>& count_gpus);

/// Parts of the command line that starts mpirun.
struct Start {
  std::string mpirun;                  ///< path of mpirun
  std::string program;                 ///< path of lockstep
  std::vector<std::string> variables;  ///< names of variables that ranks on other hosts get, too
  MpirunOptions options;               ///< options that the user gave
  std::vector<std::string> command;    ///< command of lockstep
};

/// Command line of mpirun, with the options that lockstep needs. The user's options come later and win.
std::vector<std::string> mpirun_command(const Start& start, const Machine& machine);

/// Words that run a command on another host, up to the name of the host: the command that starts the daemons
/// of mpirun (Open MPI's parameters plm_rsh_agent and plm_rsh_args), by default ssh, without prompts and with
/// 10 s to connect. Throws Error(resource) if there is no such program.
std::vector<std::string> remote_shell(const MpirunOptions& options);

/// Full path of an executable, searched for in `folders`, then in PATH; empty if it is not found.
std::string find_program(const std::string& name, const std::vector<std::string>& folders);

}  // namespace lockstep::launcher
