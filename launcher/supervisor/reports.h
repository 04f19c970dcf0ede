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
  /// `attempt`: before its start. `clock`: in seconds, as the attempt's times.
  Reports(Attempt attempt, std::function<double()> clock);

  /// Takes a line of stderr that is no report. Reads those in which mpirun names a rank that a signal ended,
  /// and those in which mpirun or ssh names a host that does not answer.
  void take_line(std::string_view line);
  /// Takes the text of a rank's report.
  void take_report(std::string_view text);

  /// The attempt so far. Its failure is the first one, as later ones follow from that.
  Attempt attempt() const;

 private:
  bool take_failure(const LauncherReport::Failure& failure);

  std::function<double()> clock_;
  mutable std::mutex mutex_;
  Attempt attempt_;
};

}  // namespace lockstep::launcher
