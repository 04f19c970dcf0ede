#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace lockstep::launcher {

/// Time limits for mpirun to reach other hosts. mpirun starts no rank before it has reached all of them, and
/// has no time limit of its own for an ssh that hangs.
class HostWait {
 public:
  using Time = std::chrono::steady_clock::time_point;
  /// `hosts`: names of the other hosts; if there are none, nothing is ever due. `began`: start of mpirun.
  HostWait(const std::vector<std::string>& hosts, Time began);

  enum class Due { nothing, warning, end };
  /// To be called about once a second while no rank has started. Returns Due::warning and, later, Due::end
  /// once each, when their time has come.
  Due look(Time now);
  /// Whether look() has returned Due::end.
  bool is_over() const { return looks_for_ == Due::nothing; }

  std::string warning() const;
  /// Reason for ending the run, for the user.
  std::string failure() const;

 private:
  std::string hosts_;  ///< "b, c"
  Time began_;
  Due looks_for_ = Due::warning;  ///< what look() returns next; nothing: it has returned Due::end
};

}  // namespace lockstep::launcher
