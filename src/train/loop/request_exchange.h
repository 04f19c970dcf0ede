#pragma once

#include <cstdint>
#include <vector>

#include "lockstep/reports.h"
#include "train/loop/stragglers.h"
#include "train/run.h"
#include "train/session/session.h"
#include "train/step/training_steps.h"

namespace lockstep {

/// Number of steps of `step_seconds` > 0 to submit together, at most `max`: as many as take 0.2 s, but at
/// least one. In this time ranks answer requests and show progress.
std::uint64_t steps_in_time(double step_seconds, std::uint64_t max);

/// Exchange of requests and step times between the ranks, at step boundaries. All ranks choose the same next
/// boundary, by the step time of the slowest rank. Its arguments outlive it.
class RequestExchange {
 public:
  RequestExchange(const Session& session, const Run& run, const RunHooks& hooks);

  /// Begins an epoch, in which ranks exchange requests if `always` is set or any rank has `ask`. Collective.
  void begin_epoch(bool always);
  /// Adds the times of steps that were made.
  void add(const StepTimes& times);
  /// Largest request of all ranks, of which `own` is this one's; none in an epoch without requests. Reports
  /// ranks that were slow in the steps up to `step`. Collective.
  Request exchange(std::uint64_t step, Request own = Request::none);

  /// Number of steps after which to exchange requests; the same on all ranks. While the time of a step is not
  /// known, one if ranks exchange requests.
  std::uint64_t steps_to_boundary() const;
  /// Number of rounds of a step, at most one for each forward and backward pass; the same on all ranks.
  std::uint64_t rounds_of_step() const;

 private:
  /// Times of the steps since the last exchange.
  struct PendingTimes {
    std::uint64_t steps = 0;
    double seconds = 0.0;       ///< of this rank's executors
    std::uint64_t samples = 0;  ///< of this rank
    bool known = true;
  };

  /// `own`: seconds per sample of each rank in the last steps. Collective.
  void find_stragglers(std::uint64_t step, std::span<const double> own);

  const Session& session_;
  const RunHooks& hooks_;
  std::uint64_t passes_;                 ///< forward and backward passes of a step
  bool asks_ = false;                    ///< whether ranks exchange requests; the same on all ranks
  double step_seconds_ = 0.0;            ///< time of a step on this rank; 0: unknown
  double slowest_step_seconds_ = 0.0;    ///< the same of the slowest rank, at the last exchange
  double estimated_step_seconds_ = 0.0;  ///< before the first step
  bool has_cores_;                       ///< whether this rank's executors have cores of their own
  PendingTimes pending_;
  StragglerDetector stragglers_;
  std::vector<double> own_seconds_;  ///< of all ranks, for find_stragglers
};

}  // namespace lockstep
