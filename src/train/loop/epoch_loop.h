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

/// Loop over the epochs of a run: steps, evaluation, and at the boundaries between steps the run's policies.
/// It can start at any step. Its arguments outlive it. Its methods are collective.
class EpochLoop {
 public:
  EpochLoop(const RunParts& parts, Evaluator& evaluator, Evaluator* validator);
  EpochLoop(const EpochLoop&) = delete;
  EpochLoop& operator=(const EpochLoop&) = delete;

  RunPosition position() const { return parts_.position(); }
  /// Sets the checkpointer, which outlives the loop, before the first epoch; null: no checkpoints.
  void set_checkpointer(Checkpointer* checkpointer) { parts_.checkpointer = checkpointer; }

  /// Runs the rest of the epoch in progress, evaluates and reports it. Returns false if a rank asked to stop,
  /// at the step boundary; an evaluation, or a step of many seconds, is abandoned then, and repeated by the
  /// next call. Returns true after a return to a checkpoint, too. Throws Error(data) on all ranks if a loss
  /// or a parameter is not finite and the run ends with it, or no sample can be read.
  bool run_epoch();

  /// Makes the next steps: those that are submitted together, at most `max`, up to the end of the epoch.
  /// Ignores the options about the end of the run. An epoch that ends with them is not evaluated. Gathers the
  /// averages.
  StepTimes run_steps(std::uint64_t max);

  /// Forgets the epoch in progress. To be called after another state was restored.
  void leave_epoch() { epoch_.leave(); }
  /// Throws Error(internal) on all ranks unless their parameters and averages have the same bits.
  void check_replicas() const { replicas_.check_all(); }

  /// At the end of a run, throws Error(data) on all ranks if OnNan has left out each of its steps.
  void check_counted() const { not_finite_.check_counted(); }

 private:
  std::uint64_t steps_until_due() const;
  /// Makes the next steps, at most `max` of the epoch; see TrainingSteps::run_while.
  std::optional<StepTimes> make_steps(std::uint64_t max, std::uint64_t rounds,
                                      const std::function<bool()>& condition);
  Next act(Boundary boundary);
  /// Evaluates and reports the epoch, or goes back to a checkpoint. Returns false if a rank asked to stop
  /// before the end of the evaluation.
  bool evaluate();

  RunParts parts_;
  Progress& progress_;  ///< part of the state
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
