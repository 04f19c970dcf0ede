#pragma once

#include "supervisor/mpirun_options.h"

namespace lockstep::launcher {

/// Whether the options or the environment choose the folder in which mpirun creates its session folder.
bool chooses_session_folder(const MpirunOptions& options);

/// Throws Error(resource) if the folder for temporary files, in which lockstep-run lets mpirun create its
/// session folder, cannot be written to or is full: mpirun would print 15 lines about it. Checks nothing if
/// the user has chosen a different folder.
void check_session_folder(const MpirunOptions& options);

}  // namespace lockstep::launcher
