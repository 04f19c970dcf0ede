#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "data/loader.h"
#include "lockstep/reports.h"
#include "lockstep/schedule.h"
#include "train/coming_samples.h"
#include "train/step_program.h"

namespace lockstep {

class World;

/// What the steps of a run are made of. Everything outlives them.
struct TrainingStepsOptions {
  const World& world;
  const LearningRate& learning_rate;
  EpochSteps epoch;
  std::uint64_t seed = 0;  ///< of the epochs' orders
  bool averages = false;   ///< whether the updater keeps averages
  Loader& loader;          ///< of the context's runners
  StepContext context;
};

/// The steps of a run, submitted some at a time, with programs that are recorded when first needed: one for
/// full steps, one for the last, short step of an epoch.
class TrainingSteps {
 public:
  explicit TrainingSteps(const TrainingStepsOptions& options);

  const EpochSteps& epoch() const { return options_.epoch; }
  /// Steps that are submitted together at most.
  std::size_t at_once() const { return options_.context.table.capacity(); }

  /// After `step` steps the next `count`, at most at_once(), all of one epoch. Times are sums. Throws on all
  /// ranks Error(data) where a loss, or the norm of a gradient to be clipped, is not finite. Collective.
  StepTimes run(std::uint64_t step, std::uint64_t count);
  /// Of the last run: what its steps were told, and what they found.
  std::span<const StepInput> inputs() const { return inputs_; }
  std::span<const StepOutcome> outcomes() const { return outcomes_; }

  /// The samples that this rank has computed in all runs.
  VisitSum visits() const;
  /// Brings the averages that other ranks have updated. Collective.
  void gather_averages();

  /// Throws on all ranks Error(data) unless `value`, which they all have, is finite. `name`: what it is.
  void check_finite(double value, const char* name, std::uint64_t step) const;

 private:
  std::vector<std::vector<SampleRange>> coming_from(std::uint64_t position) const;
  void prepare(std::uint64_t step);
  /// Seconds that GPUs have waited for samples so far.
  double waited() const;
  StepInput input_of(std::uint64_t number) const;
  StepProgram& program_for(std::uint64_t samples);

  TrainingStepsOptions options_;
  GradientArenas arenas_;
  std::vector<std::pair<std::uint64_t, std::unique_ptr<StepProgram>>> programs_;  ///< by samples of the step
  std::vector<StepInput> inputs_;
  std::span<const StepOutcome> outcomes_;
  std::uint64_t prepared_for_ = 0;  ///< number of steps after which loader and runners know what comes
  std::vector<std::vector<SampleRange>> whole_epoch_;  ///< what each runner computes in an epoch
  std::unique_ptr<Program> averages_program_;
};

}  // namespace lockstep
