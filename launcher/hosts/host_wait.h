#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace lockstep::launcher {

/// Time limits for mpirun to reach other hosts. It starts no rank before it has reached all of them, and has
/// no limit of its own for an ssh that hangs.
class HostWait {
 public:
  using Time = std::chrono::steady_clock::time_point;
  /// `hosts`: names of the other hosts; if there are none, nothing is ever due. `began`: start of mpirun.
  HostWait(const std::vector<std::string>& hosts, Time began);

  enum class Due { nothing, warning, end };
  /// To be called about once a second while no rank has started. The warning and, later, the end of the run
  /// are returned once each, when their time has come.
  Due look(Time now);
  /// Whether look() has returned the end.
  bool is_over() const { return looks_for_ == Due::nothing; }

  std::string warning() const;
  /// Reason for the end, for the user.
  std::string failure() const;

 private:
  std::string hosts_;  ///< "b, c"
  Time began_;
  Due looks_for_ = Due::warning;  ///< what look() returns next; nothing: it has returned the end
};

}  // namespace lockstep::launcher
