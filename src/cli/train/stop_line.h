#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/process/launcher_report.h"
#include "lockstep/period.h"

namespace lockstep {

/// Command that started this run, for advice that can be pasted.
struct StartCommand {
  std::string start = "lockstep";  ///< "lockstep-run -np 4", "mpirun -np 4 ./lockstep", "lockstep"
  std::vector<std::string> command = {"train"};  ///< "train", "--lr", "0.2"
};

/// That of this process; `command`: its command line from the command on.
StartCommand start_command(std::vector<std::string> command);

/// Advice to continue a run: "resume with: lockstep-run -np 4 train --resume RUN". `run`: run directory or
/// checkpoint.
std::string resume_advice(const StartCommand& start, const std::string& run);

/// Report of a stop, with the command that continues the run. `reason`: StopRequests::reason. `run`: run
/// directory or checkpoint; empty: nothing was saved.
LauncherReport::Stop stop_report(const StartCommand& start, const std::string& reason, std::uint64_t step,
                                 const std::string& run);

/// Line of a restart for which too little of --max-time is left. `before`: seconds of the earlier starts.
/// `resume`: value of --resume; empty: none.
std::string too_late_line(const StartCommand& start, Duration limit, double before,
                          const std::string& resume);

}  // namespace lockstep
