#pragma once

#include <cstdint>
#include <span>

#include "train/loop/epoch_in_progress.h"
#include "train/loop/replica_checks.h"
#include "train/loop/run_parts.h"
#include "train/loop/step_policy.h"
#include "train/loop/stragglers.h"

namespace lockstep {

/// Number of steps to submit together: as many as take 0.2 s at `step_seconds` > 0 each, at least 1 and at
/// most `max`. Ranks answer requests and show progress between these submissions.
std::uint64_t steps_in_time(double step_seconds, std::uint64_t max);

/// Exchanges requests and step times between the ranks at step boundaries, carries out the requests, and
/// writes the checkpoints that are due, which rank 0 requests. All ranks choose the same next boundary,
/// computed from the step time of the slowest rank.
class RequestPolicy : public StepPolicy {
 public:
  /// Collective.
  RequestPolicy(const RunParts& parts, EpochInProgress& epoch, const ReplicaChecks& replicas);

  /// Begins an epoch. Ranks exchange requests in it if checkpoints are written or any rank has RunHooks::ask.
  /// Collective.
  void begin_epoch();
  /// Adds the times of the last steps, from which the time of the next exchange is computed.
  void add(const StepTimes& times);
  /// Number of rounds of a step, between which the step can be abandoned: at most one for each forward and
  /// backward pass; the same on all ranks.
  std::uint64_t rounds_of_step() const;
  /// Whether any rank requests a stop; for calls within a step or an evaluation. Collective.
  bool stop_requested() { return exchange(Request::none) == Request::stop; }

  std::uint64_t steps_until_due(std::uint64_t step) const override;
  Next act(Boundary boundary) override;
  /// Carries out `request`, which must be the same on all ranks. Collective.
  Next carry_out(Request request);

 private:
  /// Times of the steps since the last exchange.
  struct PendingTimes {
    std::uint64_t steps = 0;
    double seconds = 0.0;       ///< computing time of this rank's executors
    std::uint64_t samples = 0;  ///< samples that this rank computed
    bool known = true;
  };

  /// Largest request of all ranks; `own`: request of this rank. Request::none in an epoch without exchanges.
  /// Reports ranks that were slow in the last steps. Collective.
  Request exchange(Request own);
  /// Reports each rank whose time per sample, in `seconds`, was long in the last steps. Collective.
  void find_stragglers(std::span<const double> seconds);
  /// Number of steps after which to exchange requests; the same on all ranks. If ranks exchange requests, 1
  /// until the time of a step is known.
  std::uint64_t steps_to_boundary() const;

  const RunParts& parts_;
  EpochInProgress& epoch_;
  const ReplicaChecks& replicas_;
  std::uint64_t passes_;               ///< forward and backward passes of a step
  double estimated_step_seconds_;      ///< used until the time of a step is known
  bool has_cores_;                     ///< whether this rank's executors share no cores
  bool asks_ = false;                  ///< whether ranks exchange requests; the same on all ranks
  double step_seconds_ = 0.0;          ///< time of a step on this rank; 0: unknown
  double slowest_step_seconds_ = 0.0;  ///< time of a step on the slowest rank, at the last exchange
  PendingTimes pending_;
  StragglerDetector stragglers_;
};

}  // namespace lockstep
