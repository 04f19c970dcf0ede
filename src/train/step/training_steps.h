#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "data/feed/loader.h"
#include "lockstep/reports.h"
#include "lockstep/schedule.h"
#include "train/run.h"
#include "train/shares/measured_shares.h"
#include "train/step/leaf_pass.h"
#include "train/step/step_program.h"
#include "train/step/step_table.h"
#include "train/step/updater.h"
#include "train/training_state.h"

namespace lockstep {

/// Steps of a run: learning rate, loader, runners, update, and a program for each kind of step, recorded on
/// first use: for full steps, and for the last, smaller step of an epoch.
class TrainingSteps {
 public:
  /// `graph` must be compiled for training. All arguments must outlive the steps. Collective. Throws
  /// Error(usage) for an impossible schedule, Error(resource) for lack of memory, on all ranks.
  TrainingSteps(const Session& session, const Run& run, CompiledGraph& graph, const TrainingState& state);

  /// Maximum number of steps that are submitted together.
  std::size_t at_once() const { return table_.capacity(); }
  /// Makes `count` steps after the first `step` steps of the run: at most at_once(), all of one epoch.
  /// Returns their total times. A step whose loss or gradient norm is not finite changes nothing. Calls
  /// `should_continue`, if it is not empty, between the `rounds` parts of each step; once the call returns
  /// false, which it must do on all ranks, abandons the step and returns nothing. With more than one round,
  /// `count` must be 1. Collective.
  std::optional<StepTimes> run_while(std::uint64_t step, std::uint64_t count, std::uint64_t rounds,
                                     const std::function<bool()>& should_continue);
  /// Inputs and outcomes of the steps of the last run.
  std::span<const StepInput> inputs() const { return inputs_; }
  std::span<const StepOutcome> outcomes() const { return outcomes_; }

  /// Visits of the samples that this rank has computed so far.
  VisitSum visits() const;
  /// Sum of ids and contents over the same visits, if samples are image files.
  VisitSum contents() const;
  /// Training samples that could not be read.
  BadSamples& bad_samples() const { return loader_.bad_samples(); }
  /// Gathers the averages that other ranks have updated, so that each rank has all of them. Collective.
  void gather_averages();

  /// Report on step `i` of the last run, whose loss or norm is not finite.
  NotFiniteReport not_finite(std::size_t i) const;
  /// Throws Error(data) on all ranks unless `value`, which must be equal on all ranks, is finite. `name`:
  /// name of the value in the message. `updates`: number of updates of the parameters before the value was
  /// computed.
  void check_finite(double value, const char* name, std::uint64_t step, std::uint64_t updates) const;

 private:
  /// Ranges of positions in the epoch that each runner computes, from step `first_step` of the epoch on: one
  /// list per runner, without steps in which the runner has no samples.
  std::vector<std::vector<SampleRange>> coming_from(std::uint64_t first_step) const;
  StepProgram& program_for(std::uint64_t samples, std::uint64_t rounds);
  bool measure(const StepProgram& program, std::uint64_t samples, double seconds, double processor,
               StepTimes& times);
  void change_shares(std::uint64_t step);
  void prepare(std::uint64_t step);
  void expect(const std::vector<std::vector<SampleRange>>& coming);
  StepInput input_of(std::uint64_t number) const;
  /// Seconds that GPUs have waited for samples so far.
  double waited() const;

  const Session& session_;
  const Run& run_;
  LearningRate learning_rate_;
  Loader loader_;
  StepTable table_;
  LeafRunners runners_;
  std::unique_ptr<Updater> updater_;
  MeasuredShares shares_;
  GradientArenas arenas_;
  std::vector<std::pair<std::uint64_t, std::unique_ptr<StepProgram>>>
      programs_;  ///< by number of samples of the step; for the present shares
  std::unique_ptr<Program> averages_program_;
  std::vector<std::vector<SampleRange>> whole_epoch_;  ///< samples of each runner in an epoch
  /// Number of steps after which loader and runners are prepared to continue.
  std::uint64_t prepared_for_ = 0;
  std::vector<double> computing_;  ///< seconds of each executor in the last step
  std::vector<StepInput> inputs_;
  std::span<const StepOutcome> outcomes_;
};

}  // namespace lockstep
