#pragma once

#include <cstdint>
#include <span>

#include "train/loop/epoch_in_progress.h"
#include "train/loop/replica_checks.h"
#include "train/loop/run_parts.h"
#include "train/loop/step_policy.h"
#include "train/loop/stragglers.h"

namespace lockstep {

/// Number of steps of `step_seconds` > 0 to submit together, at most `max`: as many as take 0.2 s, but at
/// least one. In this time ranks answer requests and show progress.
std::uint64_t steps_in_time(double step_seconds, std::uint64_t max);

/// Exchanges requests and step times between the ranks at step boundaries, carries out the requests, and
/// writes the checkpoints that are due: rank 0 requests these. All ranks choose the same next boundary, by
/// the step time of the slowest rank.
class RequestPolicy : public StepPolicy {
 public:
  /// Collective.
  RequestPolicy(const RunParts& parts, EpochInProgress& epoch, const ReplicaChecks& replicas);

  /// Begins an epoch, in which ranks exchange requests if there are checkpoints or any rank has `ask`.
  /// Collective.
  void begin_epoch();
  /// Adds the times of steps that were made; they decide when the next requests are exchanged.
  void add(const StepTimes& times);
  /// Number of rounds of a step, between which it can be abandoned: at most one for each forward and backward
  /// pass; the same on all ranks.
  std::uint64_t rounds_of_step() const;
  /// Whether any rank requests to stop, within a step or an evaluation. Collective.
  bool stop_requested() { return exchange(Request::none) == Request::stop; }

  std::uint64_t steps_until_due(std::uint64_t step) const override;
  Next act(Boundary boundary) override;
  /// Carries out a request of all ranks. Collective.
  Next carry_out(Request request);

 private:
  /// Times of the steps since the last exchange.
  struct PendingTimes {
    std::uint64_t steps = 0;
    double seconds = 0.0;       ///< of this rank's executors
    std::uint64_t samples = 0;  ///< of this rank
    bool known = true;
  };

  /// Largest request of all ranks, of which `own` is this one's; none in an epoch without requests. Reports
  /// ranks that were slow in the last steps. Collective.
  Request exchange(Request own);
  /// `own`: seconds per sample of each rank in the last steps. Collective.
  void find_stragglers(std::span<const double> own);
  /// Number of steps after which to exchange requests; the same on all ranks. While the time of a step is not
  /// known, one if ranks exchange requests.
  std::uint64_t steps_to_boundary() const;

  const RunParts& parts_;
  EpochInProgress& epoch_;
  const ReplicaChecks& replicas_;
  std::uint64_t passes_;               ///< forward and backward passes of a step
  double estimated_step_seconds_;      ///< before the first step
  bool has_cores_;                     ///< whether this rank's executors have cores of their own
  bool asks_ = false;                  ///< whether ranks exchange requests; the same on all ranks
  double step_seconds_ = 0.0;          ///< time of a step on this rank; 0: unknown
  double slowest_step_seconds_ = 0.0;  ///< the same of the slowest rank, at the last exchange
  PendingTimes pending_;
  StragglerDetector stragglers_;
};

}  // namespace lockstep
