#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace lockstep::launcher {

/// Limits of the wait for other hosts at the start of mpirun, which starts no rank before it has reached all
/// of them, and itself waits without an end for an ssh that hangs.
class HostWait {
 public:
  using Time = std::chrono::steady_clock::time_point;
  /// `hosts`: the other ones; empty: mpirun waits for none.
  HostWait(const std::vector<std::string>& hosts, Time began);

  enum class Due { nothing, warning, end };
  /// To be called about once a second while no rank has started. Each thing is due once: a warning after 10
  /// s, the end after 300 s.
  Due look(Time now);
  /// Whether the end was due.
  bool is_over() const { return looks_for_ == Due::nothing; }

  std::string warning() const;
  /// Sentence about the end.
  std::string failure() const;

 private:
  std::string hosts_;  ///< "b, c"
  Time began_;
  Due looks_for_ = Due::warning;  ///< next; nothing: the end was due
};

}  // namespace lockstep::launcher
