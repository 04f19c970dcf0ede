#pragma once

#include <cstdint>
#include <string>

#include "lockstep/period.h"

namespace lockstep {

/// Advice to continue a run: "resume with: lockstep train --resume RUN". `run`: run directory or checkpoint.
std::string resume_advice(const std::string& run);

/// Advice for a run that may have no checkpoint yet: "resume with: lockstep train --resume auto --run-dir RUN
/// and the options of its first start". `run`: run directory.
std::string begin_again_advice(const std::string& run);

/// Line with the reason for a stop and the command that continues the run. `reason`: StopRequests::reason.
/// `resume`: run directory or checkpoint for --resume; empty: nothing was saved.
std::string stop_line(const std::string& reason, std::uint64_t step, const std::string& resume);

/// Line of a restart for which too little of --max-time is left. `before`: seconds of the earlier starts.
/// `resume`: value of --resume; empty: none.
std::string too_late_line(Duration limit, double before, const std::string& resume);

}  // namespace lockstep
