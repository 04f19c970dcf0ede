#pragma once

#include "processes/program_output.h"
#include "supervisor/mpirun_options.h"

namespace lockstep::launcher {

/// Words that start a command on another host, before the host's name: those that mpirun uses for its
/// daemons, Open MPI's parameters plm_rsh_agent and plm_rsh_args, by default ssh. ssh then asks nothing and
/// connects within 10 s. Throws Error(resource) if there is no such program.
CommandWords remote_shell(const MpirunOptions& options);

}  // namespace lockstep::launcher
