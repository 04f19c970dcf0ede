#pragma once

#include <functional>
#include <mutex>
#include <string_view>

#include "core/process/launcher_report.h"
#include "supervisor/attempt.h"

namespace lockstep::launcher {

/// Collects the reports of ranks, and the lines of mpirun and ssh, during an attempt. Safe from any thread.
class Reports {
 public:
  /// `attempt`: the attempt before its start. `clock` returns the time in seconds, on the clock of the
  /// attempt's times.
  Reports(Attempt attempt, std::function<double()> clock);

  /// Handles a line of stderr that is not a report. Recognises lines in which mpirun names a rank that a
  /// signal ended, and lines in which mpirun or ssh names a host that does not answer.
  void take_line(std::string_view line);
  /// Handles the text of a rank's report.
  void take_report(std::string_view text);

  /// The attempt so far. Its failure is the first one, which caused the later ones.
  Attempt attempt() const;

 private:
  bool take_failure(const LauncherReport::Failure& failure);

  std::function<double()> clock_;
  mutable std::mutex mutex_;
  Attempt attempt_;
};

}  // namespace lockstep::launcher
