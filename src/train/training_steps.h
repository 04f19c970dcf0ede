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
  Loader& loader;  ///< of the context's runners
  StepContext context;
};

/// The steps of a run, from step 1 on: handed to the device some at a time, with programs that are recorded
/// when first needed: one for full steps, one for the last, short step of an epoch.
class TrainingSteps {
 public:
  explicit TrainingSteps(const TrainingStepsOptions& options) : options_(options) {}

  /// The next `count` steps, at most the table's capacity, from `position` in the loader's epoch on. Times
  /// are sums. Throws on all ranks Error(data) where a loss, or the norm of a gradient to be clipped, is not
  /// finite. Collective.
  StepTimes run(std::uint64_t position, std::uint64_t count);
  /// Of the last run: what its steps were told, and what they found.
  std::span<const StepInput> inputs() const { return inputs_; }
  std::span<const StepOutcome> outcomes() const { return outcomes_; }
  /// Steps of all runs.
  std::uint64_t count() const { return count_; }

  /// Throws on all ranks Error(data) unless `value`, which they all have, is finite. `name`: what it is.
  void check_finite(double value, const char* name, std::uint64_t step) const;

 private:
  StepInput input_of(std::uint64_t step, std::uint64_t position) const;
  StepProgram& program_for(std::uint64_t samples);

  TrainingStepsOptions options_;
  GradientArenas arenas_;
  std::vector<std::pair<std::uint64_t, std::unique_ptr<StepProgram>>> programs_;  ///< by samples of the step
  std::vector<StepInput> inputs_;
  std::span<const StepOutcome> outcomes_;
  std::uint64_t count_ = 0;
};

}  // namespace lockstep
