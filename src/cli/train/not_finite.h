#pragma once

#include <filesystem>

#include "lockstep/dataset.h"
#include "lockstep/reports.h"
#include "report/recorder.h"

namespace lockstep {

/// Tells on stderr of a step that is not finite, and of what the run does, and writes the samples of the step
/// to a file in the run directory `run` (empty: there is none). A run directory gets such files, and stderr
/// lines about skipped steps, for the first 100 steps only.
void tell_of_not_finite(const NotFiniteReport& report, const Dataset& train, const std::filesystem::path& run,
                        Recorder& recorder);

}  // namespace lockstep
