#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/process/launcher_report.h"
#include "lockstep/error.h"

namespace lockstep::launcher {

/// A start of mpirun and how it ended. Times are in seconds on one clock; steps count from the
/// beginning of the run.
struct Attempt {
  int ranks = 0;  ///< 0: as many as mpirun chose
  double began = 0;
  double ended = 0;
  std::optional<double> first_step = {};  ///< time when its first step was reported
  std::string run_directory = {};         ///< empty: not known yet
  std::uint64_t from_step = 0;   ///< step of the checkpoint from which it resumed; 0: from the beginning
  std::uint64_t last_step = 0;   ///< last step that was reported
  std::uint64_t checkpoint = 0;  ///< step of the newest checkpoint in the run directory; 0: none
  bool heard = false;            ///< whether a rank has reported anything, as each does when it starts
  bool started = false;          ///< whether a rank has reported a step; all ranks then handle signals
  int status = 0;                ///< exit status, or 128 + signal
  std::optional<int> ranks_status = {};  ///< exit status that the ranks reported; none: not reported
  bool stop_requested = false;
  std::optional<LauncherReport::Stop> stop = {};        ///< stop that the ranks reported
  std::optional<LauncherReport::Failure> failure = {};  ///< first failure; none: not reported
  std::string mpirun_failure = {};  ///< sentence about a failure of mpirun itself; empty: none is known

  bool failed() const {
    return status != 0 && status != static_cast<int>(Category::stopped) && !stop_requested;
  }
};

}  // namespace lockstep::launcher
