#pragma once

#include "supervisor/mpirun_options.h"

namespace lockstep::launcher {

/// Throws Error(resource) if mpirun could not create the folder of its session, which it reports in 15 lines.
/// It creates it in the folder for temporary files, unless its parameter orte_tmpdir_base names another.
void check_session_folder(const MpirunOptions& options);

}  // namespace lockstep::launcher
