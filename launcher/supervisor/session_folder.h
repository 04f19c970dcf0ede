#pragma once

namespace lockstep::launcher {

/// Throws Error(resource) if the folder for temporary files cannot be written to or is full. There mpirun
/// creates the folder of its session, and it reports a failure in 15 lines.
void check_session_folder();

}  // namespace lockstep::launcher
