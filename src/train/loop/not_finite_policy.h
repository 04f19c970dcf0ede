#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "train/loop/epoch_in_progress.h"
#include "train/loop/replica_checks.h"
#include "train/loop/run_parts.h"
#include "train/loop/step_policy.h"

namespace lockstep {

/// Acts on losses, gradient norms and parameters that are not finite, as OnNan says: stops, skips the step,
/// or rolls back to an earlier checkpoint and leaves out the batches up to this step. All methods are
/// collective, and report what they do.
class NotFinitePolicy : public StepPolicy {
 public:
  NotFinitePolicy(const RunParts& parts, EpochInProgress& epoch, const ReplicaChecks& replicas)
      : parts_(parts), epoch_(epoch), replicas_(replicas) {}

  /// Call after steps, before they count. Throws Error(data) on all ranks if a step that is not finite ends
  /// the run: with OnNan::stop, or after too many skipped steps in a row. Leaves OnNan::rollback to act().
  void stop_or_skip();
  /// After steps, rolls back to a checkpoint if the first step that is not finite requires it. Throws
  /// Error(data) on all ranks, after the report, if the run has rolled back too often or there is no
  /// checkpoint.
  Next act(Boundary boundary) override;

  /// At the end of an epoch, whether all parameters are finite. If not, rolls back or throws Error(data) on
  /// all ranks. Reads the values that ReplicaChecks::check_all has compared.
  bool accept_parameters();
  /// Same for the loss of an evaluation. Also throws Error(data) if no sample could be read. `data`: name of
  /// the data set, for messages.
  bool accept(const Evaluation& evaluation, const std::string& data);
  /// At the end of a run, throws Error(data) on all ranks, after a report, if none of its steps counts.
  void check_counted() const;

 private:
  OnNan handling() const { return parts_.run.options.on_nan; }
  void stop_or_skip(NotFiniteReport report);
  void roll_back(NotFiniteReport report);

  const RunParts& parts_;
  EpochInProgress& epoch_;
  const ReplicaChecks& replicas_;
  /// Step of the checkpoint to which the run has rolled back; none if it has made steps since.
  std::optional<std::uint64_t> restored_step_;
};

}  // namespace lockstep
