#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "lockstep/period.h"
#include "lockstep/reports.h"

namespace lockstep {

class World;

/// Requests to stop a run at a step boundary, or to write a checkpoint: signals to this process, and a time
/// limit.
///
///   StopRequests requests;                                  // before World, so that no signal is missed
///   ...
///   trainer.ask = [&] { return requests.ask(); };
///   trainer.act = [&](Request request) { requests.carried_out(request); };
///   requests.wait_for_boundaries();
///   trainer.fit();
///   if (requests.stopped()) print(requests.reason(world));  // on all ranks
///
/// SIGTERM, SIGINT, SIGHUP (the terminal was closed), SIGXCPU (a limit on processor time) and SIGUSR1 stop
/// the run on all ranks, even if only one rank receives them; SIGUSR2 asks for a checkpoint. Until
/// wait_for_boundaries is called, there is nothing to save: stop signals end this process within 0.6 s with
/// status 75 (Category::stopped). After that call, a second SIGINT, at least half a second after the first
/// one, ends the process by the default action. Signals that the process was started to ignore stay ignored.
/// A process has at most one object at a time.
class StopRequests {
 public:
  /// Handles the signals from now on. The run's time counts from now.
  StopRequests();
  /// Restores the earlier handling of the signals.
  ~StopRequests();
  StopRequests(const StopRequests&) = delete;
  StopRequests& operator=(const StopRequests&) = delete;

  /// Stops the run early enough for this process to end within `limit` of its start: reserves twice the
  /// longest recent time between two calls of ask, and the time for the end of the run. 0: no limit.
  /// `before`: seconds of the limit used by earlier processes of the run.
  void set_limit(Duration limit, double before = 0.0) {
    limit_ = limit.seconds;
    before_ = before;
  }
  /// Whether earlier processes have used so much of the limit that the first call of ask would stop the run.
  /// Reads no clock.
  bool is_over_before_start() const {
    return limit_ > 0.0 && before_ > 0.0 && before_ + time_for_end() >= limit_;
  }
  /// Reserves `seconds` for the end of the run, mainly its checkpoint. The largest value counts; default: 5 %
  /// of the limit, at most 30 s.
  void expect_end(double seconds);

  /// From now on, stop signals no longer end the process: ask returns them as requests.
  void wait_for_boundaries();
  /// Implements RunHooks::ask: this rank's largest request since one was last carried out.
  Request ask();
  /// Implements RunHooks::act: records that a request of any rank was carried out.
  void carried_out(Request request);

  /// Whether Request::stop was carried out.
  bool stopped() const { return stopped_; }
  /// Cause of the stop, on all ranks: "SIGTERM", "SIGUSR1 to rank 1", "the time limit of 3h50m", or "request"
  /// if it was none of these. Collective.
  std::string reason(const World& world) const;

 private:
  double seconds() const;
  double time_for_end() const;
  bool time_is_over();

  double started_ = 0.0;  ///< steady clock
  double limit_ = 0.0;    ///< seconds; 0: none
  double before_ = 0.0;   ///< seconds of the limit used by earlier processes
  double end_ = 0.0;      ///< seconds reserved for the end of the run; 0: default
  double asked_at_ = 0.0;
  std::size_t asked_ = 0;
  std::array<double, 16> between_{};  ///< seconds between the last calls of ask
  bool out_of_time_ = false;
  bool stopped_ = false;
};

}  // namespace lockstep
