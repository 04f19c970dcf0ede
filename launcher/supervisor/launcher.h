#pragma once

#include "supervisor/arguments.h"

namespace lockstep::launcher {

/// Runs the command of `arguments` with mpirun, and restarts it after failures as far as its options allow.
/// Passes stop signals on to the ranks. With `arguments.check`, only asks the hosts and prints their answers.
/// Returns the exit status. Throws Error(resource) if mpirun or lockstep is not found. Must be called while
/// the process has a single thread.
int launch(const Arguments& arguments);

}  // namespace lockstep::launcher
