#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "lockstep/reports.h"
#include "train/checkpoints/checkpointer.h"
#include "train/epoch_checks.h"
#include "train/evaluator.h"
#include "train/request_exchange.h"
#include "train/run.h"
#include "train/session/session.h"
#include "train/step/training_steps.h"
#include "train/training_state.h"

namespace lockstep {

/// Observers of a run, and functions that make decisions. They may be empty, and may be set later.
struct LoopObservers {
  const std::function<void(const StepReport&)>& on_step;
  const std::function<void(const EpochReport&)>& on_epoch;
  const std::function<void(const DigestReport&)>& on_digest;
  const std::function<void(const StragglerReport&)>& on_straggler;
  const std::function<void(const NotFiniteReport&)>& on_not_finite;
  const std::function<Request()>& ask;
  const std::function<void(Request)>& act;
};

/// Loop over the epochs of a run: steps, evaluation, checks and reports. It can start at any step. Its
/// arguments outlive it. Its methods are collective.
class EpochLoop {
 public:
  EpochLoop(const Session& session, const Run& run, TrainingSteps& steps, Evaluator& evaluator,
            Evaluator* validator, TrainingState& state, LoopObservers observers);

  /// Whether all steps were made and their epochs evaluated, or early stopping ends the run.
  bool done() const { return !evaluation_due() && (all_steps_made() || too_long_without_a_better_epoch()); }
  /// Number of epochs that are over: evaluated, and without further steps.
  int epochs() const;
  /// Whether early stopping ended the run before its last step.
  bool stopped_early() const { return !all_steps_made() && too_long_without_a_better_epoch(); }
  /// Sets what writes the run's checkpoints, before the first epoch; null: nothing. It outlives the loop.
  void set_checkpointer(Checkpointer* checkpointer) { checkpointer_ = checkpointer; }

  /// Runs the rest of the epoch in progress, evaluates and reports it. Returns false if a rank asked to stop,
  /// at the step boundary; an evaluation, or a step of many seconds, is abandoned then, and repeated by the
  /// next call. Returns true after a return to a checkpoint, too. Throws Error(data) on all ranks if a loss
  /// or a parameter is not finite and the run does not go on, or no sample can be read.
  bool run_epoch();

  /// Makes the next steps: those that are submitted together, at most `max`, up to the end of the epoch.
  /// Ignores the options about the end of the run. An epoch that ends with them is not evaluated.
  StepTimes run_steps(std::uint64_t max) {
    const std::uint64_t together = session_.placement().steps_at_once;
    const StepTimes times = *run_steps_while(std::min(max, together), 1, nullptr);
    progress_.evaluated = progress_.step;
    return times;
  }

  /// Throws Error(internal) on all ranks unless their parameters and averages have the same bits.
  void check_replicas() const { check_same_parameters(session_, progress_.step, state_.hash()); }

 private:
  std::uint64_t steps_per_epoch() const { return run_.epoch.steps; }
  std::uint64_t total_steps() const;
  bool all_steps_made() const { return progress_.step >= total_steps(); }
  /// Whether the next thing to do is an evaluation, as the run was stopped before its end.
  bool evaluation_due() const {
    return progress_.step > progress_.evaluated &&
           (progress_.step % steps_per_epoch() == 0 || all_steps_made());
  }
  bool too_long_without_a_better_epoch() const;
  /// Number of steps to submit together: up to the next one after which there is something to do. The same
  /// on all ranks.
  std::uint64_t steps_to_boundary() const;
  /// Same as run_steps, but returns nothing if `goes_on` abandons a step; see TrainingSteps::run_while.
  std::optional<StepTimes> run_steps_while(std::uint64_t max, std::uint64_t rounds,
                                           const std::function<bool()>& goes_on);
  /// Reports a step that is not finite and is not the cause of a rollback. Throws Error(data) on all ranks if
  /// the run ends with it.
  void stop_or_skip(const NotFiniteReport& report);
  /// Goes back to a checkpoint before the step of `report`, passes over the batches up to it, and reports it.
  /// Throws Error(data) on all ranks, after the report, if it has returned too often or to no checkpoint.
  void roll_back(NotFiniteReport report);
  /// Step of the last run for which to go back; none: there is none.
  std::optional<NotFiniteReport> cause_of_rollback() const;
  /// Passes over the batches up to progress_.pass_until, at most up to `end`.
  void pass_over(std::uint64_t end);
  bool no_request_to_stop() { return requests_.exchange(progress_.step) != Request::stop; }
  /// Acts on a request of the ranks. Returns whether to go on.
  bool carry_out(Request request);
  /// Acts on the requests of the ranks. Returns whether to go on.
  bool pass_boundary(Boundary boundary);
  /// Throws Error(internal) on all ranks unless their parameters have the same bits. Averages are not
  /// compared, as ranks gather them for evaluations only.
  void check_parameters() const;
  /// Reports the digest of the parameters if it is due.
  void report_digest() const;
  /// Loss and accuracy over the epoch's steps.
  Evaluation train_evaluation() const;
  void check_epoch(int epoch) const;
  /// Goes back to a checkpoint for a value that is not finite at the end of an epoch, with OnNan::rollback.
  /// Returns whether it did. `value`: in words.
  bool goes_back(int epoch, const std::string& value);
  /// Same for a parameter; throws Error(data) on all ranks if there is one and the run cannot go back.
  bool goes_back_for_parameters(int epoch);
  /// Evaluates and reports the epoch, or goes back to a checkpoint. Returns false if a rank asked to stop
  /// before the end of the evaluation.
  bool finish_epoch(int epoch, const StepTimes& work);
  void report_steps(int epoch, const StepTimes& times) const;

  const Session& session_;
  const Run& run_;
  TrainingSteps& steps_;
  Evaluator& evaluator_;
  Evaluator* validator_;  ///< null without a validation set
  TrainingState& state_;
  Progress& progress_;  ///< part of the state
  LoopObservers observers_;
  Checkpointer* checkpointer_ = nullptr;  ///< null: no checkpoints
  RequestExchange requests_;
  /// Start of this process in the epoch in progress, for check_visits.
  struct Entry {
    VisitSum visits;             ///< visits of this rank before it
    std::uint64_t position = 0;  ///< first step, from the beginning of the epoch
  };
  std::optional<Entry> entry_;
};

}  // namespace lockstep
