#pragma once

#include "lockstep/dataset.h"
#include "lockstep/reports.h"
#include "run/recorder.h"
#include "run/run_folder.h"

namespace lockstep {

/// Prints a warning about a step that is not finite and how the run handles it, and writes the samples of the
/// step to a file in `run`, unless that has no path. Only the first 100 such steps get a file, and only the
/// first 100 skipped steps a warning.
void report_not_finite(const NotFiniteReport& report, const Dataset& train, const RunFolder& run,
                       Recorder& recorder);

}  // namespace lockstep
