#pragma once

#include <cstdint>
#include <string>

#include "core/process/launcher_report.h"
#include "lockstep/period.h"

namespace lockstep {

/// Words that started this process, before the command and its options: "lockstep-run -np 4",
/// "mpirun -np 4 ./lockstep", "lockstep". The functions below take them as `start`, for commands that can be
/// pasted.
std::string own_start();

/// Advice to continue a run: "resume with: lockstep-run -np 4 train --resume RUN". `run`: run directory or
/// checkpoint.
std::string resume_advice(const std::string& start, const std::string& run);

/// Report of a stop, with the command that continues the run. `reason`: StopRequests::reason. `run`: run
/// directory or checkpoint; empty: nothing was saved.
LauncherReport::Stop stop_report(const std::string& start, const std::string& reason, std::uint64_t step,
                                 const std::string& run);

/// Line for a restart when too little of --max-time is left. `before`: seconds that earlier starts used.
/// `resume`: value of --resume; empty: none.
std::string too_late_line(const std::string& start, Duration limit, double before, const std::string& resume);

}  // namespace lockstep
