#pragma once

#include "train/loop/epoch_in_progress.h"
#include "train/loop/replica_checks.h"
#include "train/loop/request_exchange.h"
#include "train/loop/run_parts.h"
#include "train/loop/step_policy.h"

namespace lockstep {

/// Carries out the requests of the ranks, and writes the checkpoints that are due: rank 0 requests these.
class RequestPolicy : public StepPolicy {
 public:
  RequestPolicy(const RunParts& parts, EpochInProgress& epoch, const ReplicaChecks& replicas)
      : parts_(parts), epoch_(epoch), replicas_(replicas), exchange_(parts.session, parts.run, parts.hooks) {}

  /// Begins an epoch. Collective.
  void begin_epoch() { exchange_.begin_epoch(parts_.checkpointer != nullptr); }
  /// Takes note of steps that were made; their time decides when the next requests are exchanged.
  void add(const StepTimes& times) { exchange_.add(times); }
  /// Number of rounds of a step, between which it can be abandoned; the same on all ranks.
  std::uint64_t rounds_of_step() const { return exchange_.rounds_of_step(); }
  /// Whether any rank requests to stop, within a step or an evaluation. Collective.
  bool stop_requested() { return exchange_.exchange(parts_.state.progress.step) == Request::stop; }

  std::uint64_t steps_until_due(std::uint64_t step) const override;
  Next act(Boundary boundary) override;
  /// Carries out a request of all ranks. Collective.
  Next carry_out(Request request);

 private:
  const RunParts& parts_;
  EpochInProgress& epoch_;
  const ReplicaChecks& replicas_;
  RequestExchange exchange_;
};

}  // namespace lockstep
