#pragma once

#include "supervisor/mpirun_options.h"

namespace lockstep::launcher {

/// Throws Error(resource) if the folder for temporary files cannot be written to or is full, or somebody else
/// owns mpirun's folder in it. There mpirun creates the folder of its session, and it reports a failure in 15
/// lines. Checks nothing if `options` or the environment choose another folder for sessions.
void check_session_folder(const MpirunOptions& options);

}  // namespace lockstep::launcher
