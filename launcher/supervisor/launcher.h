#pragma once

#include "supervisor/arguments.h"

namespace lockstep::launcher {

/// Starts the command of `arguments` with mpirun, and again after failures as far as its options allow.
/// Passes on signals to stop. With `check`, asks the hosts instead, and prints their answers. Returns the
/// exit status. Throws Error(resource) if mpirun or lockstep is not found. To be called in a process with a
/// single thread.
int launch(const Arguments& arguments);

}  // namespace lockstep::launcher
