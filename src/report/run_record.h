#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "report/events.h"
#include "report/run_directory.h"

namespace lockstep {

/// What a run directory tells about its run.
struct RunRecord {
  using Facts = std::vector<std::pair<std::string, std::string>>;  ///< names and values, in file order

  std::string name;                ///< of the directory
  std::vector<StepEvent> steps;    ///< ascending; of a step that a resumed run repeated, the last one
  std::vector<EpochEvent> epochs;  ///< likewise. `epochs` of all events is the largest epoch seen
  std::optional<EndEvent> end;     ///< none: the run goes on or was interrupted
  Facts options;                   ///< of options.cfg; empty when there is none
  Facts environment;               ///< of environment.json; empty when there is none
};

/// Reads a run directory. An incomplete last line of metrics.jsonl (a run that is writing, or was killed) is
/// passed over; numbers that are null become NaN. Throws Error(data) with file, line and reason.
RunRecord read_run_record(const RunDirectory& directory);

}  // namespace lockstep
