#pragma once

#include <memory>
#include <vector>

#include "device/device.h"
#include "lockstep/trainer.h"
#include "reduce/reducer.h"
#include "train/leaf_runner.h"
#include "train/updater.h"

namespace lockstep {

/// What the steps of a run share. Everything outlives the programs.
struct StepContext {
  Device& device;
  Communicator& communicator;
  Updater& updater;
  Reduce reduce;
  std::span<float> parameters;
  std::vector<std::unique_ptr<LeafRunner>>& runners;  ///< one per stream
  int ranks_on_host;
};

/// Gradient arenas of each executor, shared by all programs of a run; grown before recording.
struct GradientArenas {
  std::vector<std::vector<Buffer>> executors;
};

/// One kind of step, recorded once: `leaves` micro-batches over all ranks, sum, update.
class StepProgram {
 public:
  StepProgram(const StepContext& context, GradientArenas& arenas, std::uint32_t leaves);

  /// Runs the step that the loader was set to. The gradient scale is set here: 1 / samples that were
  /// computed, over all ranks. A step without samples, or whose loss is not finite, updates nothing.
  /// Collective.
  void run(const Optimizer::Step& step);

  /// Results of all leaves of all ranks, in the order of leaves.
  std::span<const LeafResult> results() const { return all_results_; }
  double fold_seconds() const;
  double reduce_seconds() const { return reduce_seconds_; }
  double update_seconds() const { return context_.updater.seconds(); }

 private:
  struct ExecutorPlan;
  std::vector<ExecutorPlan> plan_executors() const;
  void allocate_arenas(const std::vector<ExecutorPlan>& plans);
  void record(const std::vector<ExecutorPlan>& plans);
  void run_leaves(std::size_t executor, const ExecutorPlan& plan);
  void reduce_and_update();

  StepContext context_;
  GradientArenas& arenas_;
  Assignment assignment_;
  std::unique_ptr<Reducer> reducer_;
  Optimizer::Step step_;
  std::vector<LeafResult> own_results_;
  std::vector<LeafResult> all_results_;
  std::vector<std::size_t> result_bytes_;
  std::vector<double> fold_seconds_;
  double reduce_seconds_ = 0.0;
  std::unique_ptr<Program> program_;
};

}  // namespace lockstep
