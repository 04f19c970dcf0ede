#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "lockstep/reports.h"
#include "train/epoch_checks.h"
#include "train/evaluator.h"
#include "train/run.h"
#include "train/session/session.h"
#include "train/step/training_steps.h"
#include "train/training_state.h"

namespace lockstep {

/// What the program that trains wants to know and to decide; functions may be empty, and may be set later.
struct LoopObservers {
  const std::function<void(const StepReport&)>& on_step;
  const std::function<void(const EpochReport&)>& on_epoch;
  const std::function<Request()>& ask;
  const std::function<void(Request)>& act;
};

/// The epochs of a run: steps, evaluation, checks and reports, from any step on. Everything that it is given
/// outlives it. Its methods are collective.
class EpochLoop {
 public:
  EpochLoop(const Session& session, const Run& run, TrainingSteps& steps, Evaluator& evaluator,
            Evaluator* validator, TrainingState& state, LoopObservers observers);

  /// Whether all steps were made, or no epoch has been better for too long.
  bool done() const { return all_steps_made() || too_long_without_a_better_epoch(); }
  bool stopped_early() const { return !all_steps_made() && too_long_without_a_better_epoch(); }

  /// The rest of the epoch in progress, at its end evaluated and reported. Returns false, at the boundary of
  /// a step, where a rank asked to stop. Throws on all ranks Error(data) where a loss is not finite or
  /// nothing can be read.
  bool run_epoch();

  /// The next steps, at most `most`, as many as are submitted together, not beyond the end of the epoch and
  /// whatever options say about the run's end.
  StepTimes run_steps(std::uint64_t most);

  /// Throws Error(internal) on all ranks unless their parameters and averages have the same bits.
  void check_replicas() const { checks_.same_parameters(state_.hash()); }

 private:
  std::uint64_t steps_per_epoch() const { return run_.epoch.steps; }
  std::uint64_t total_steps() const;
  bool all_steps_made() const { return progress_.step >= total_steps(); }
  bool too_long_without_a_better_epoch() const;
  /// Acts on what the ranks ask for; returns whether to go on.
  bool pass_boundary();
  void finish_epoch(int epoch, const StepTimes& work);
  void report_steps(int epoch, const StepTimes& times) const;

  const Session& session_;
  const Run& run_;
  TrainingSteps& steps_;
  Evaluator& evaluator_;
  Evaluator* validator_;  ///< null without a validation set
  TrainingState& state_;
  Progress& progress_;  ///< of the state
  LoopObservers observers_;
  EpochChecks checks_;
  bool asks_ = false;  ///< whether a rank has something to ask, on all ranks alike
  /// Where this process entered the epoch in progress, for the check that each sample is visited once.
  struct Entry {
    VisitSum visits;             ///< of this rank, before
    std::uint64_t position = 0;  ///< first step
  };
  std::optional<Entry> entry_;
};

}  // namespace lockstep
