#pragma once

#include "supervisor/mpirun_options.h"

namespace lockstep::launcher {

/// Whether the options or the environment choose the folder in which mpirun creates that of its session.
bool chooses_session_folder(const MpirunOptions& options);

/// Throws Error(resource) if the folder for temporary files, in which lockstep-run lets mpirun create its
/// session's, cannot be written to or is full: mpirun reports such a failure in 15 lines. Checks nothing if
/// the user chooses another folder.
void check_session_folder(const MpirunOptions& options);

}  // namespace lockstep::launcher
