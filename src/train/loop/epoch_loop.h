#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <optional>

#include "train/evaluator.h"
#include "train/loop/epoch_in_progress.h"
#include "train/loop/not_finite_policy.h"
#include "train/loop/replica_checks.h"
#include "train/loop/request_policy.h"
#include "train/loop/run_parts.h"
#include "train/loop/step_reports.h"

namespace lockstep {

/// Loop over the epochs of a run: makes steps, calls the run's policies at step boundaries, and evaluates. It
/// can start at any step. Arguments must outlive the loop. Methods are collective.
class EpochLoop {
 public:
  EpochLoop(const RunParts& parts, Evaluator& evaluator, Evaluator* validator);
  EpochLoop(const EpochLoop&) = delete;
  EpochLoop& operator=(const EpochLoop&) = delete;

  RunPosition position() const { return parts_.position(); }
  /// Sets the checkpointer, before the first epoch; null: no checkpoints. The checkpointer must live until it
  /// is replaced or the last epoch has run.
  void set_checkpointer(Checkpointer* checkpointer) { parts_.checkpointer = checkpointer; }

  /// Runs the rest of the epoch in progress, evaluates and reports it. Returns false at a step boundary if a
  /// rank requested a stop; an evaluation, or a step of many seconds, is then abandoned, and the next call
  /// repeats it. Also returns true after a rollback. Throws Error(data) on all ranks if a loss or parameter
  /// that is not finite ends the run, or no sample can be read.
  bool run_epoch();

  /// Makes the next steps: as many as are submitted together, at most `max`, and none beyond the end of the
  /// epoch. Ignores the options that end a run. Does not evaluate an epoch that ends with these steps.
  /// Gathers the averages.
  StepTimes run_steps(std::uint64_t max);

  /// Forgets the epoch in progress. Call after restoring another state.
  void leave_epoch() { epoch_.leave(); }
  /// Throws Error(internal) on all ranks unless their parameters and averages have the same bits.
  void check_replicas() const { replicas_.check_all(); }

  /// At the end of a run, throws Error(data) on all ranks if OnNan has left out all steps.
  void check_counted() const { not_finite_.check_counted(); }

 private:
  std::uint64_t steps_until_due() const;
  /// Makes the next steps, at most `max` of the epoch; see TrainingSteps::run_while.
  std::optional<StepTimes> make_steps(std::uint64_t max, std::uint64_t rounds,
                                      const std::function<bool()>& condition);
  Next act(Boundary boundary);
  /// Evaluates and reports the epoch, or rolls back to a checkpoint. Returns false if a rank asked to stop
  /// before the end of the evaluation.
  bool evaluate();

  RunParts parts_;
  Progress& progress_;  ///< progress in parts_.state
  Evaluator& evaluator_;
  Evaluator* validator_;  ///< null without a validation set
  EpochInProgress epoch_{parts_};
  ReplicaChecks replicas_{parts_};
  NotFinitePolicy not_finite_{parts_, epoch_, replicas_};
  StepReports reports_{parts_, epoch_};
  RequestPolicy requests_{parts_, epoch_, replicas_};
  std::function<bool()> unless_stopped_ = [this] { return !requests_.stop_requested(); };
  std::array<StepPolicy*, 4> policies_{&not_finite_, &reports_, &replicas_, &requests_};
};

}  // namespace lockstep
