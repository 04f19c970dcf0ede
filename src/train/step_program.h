#pragma once

#include <memory>
#include <vector>

#include "device/device.h"
#include "lockstep/optimizer.h"
#include "lockstep/trainer.h"
#include "reduce/reducer.h"
#include "train/leaf_runner.h"

namespace lockstep {

/// What the steps of a run share. Everything outlives the programs.
struct StepContext {
  Device& device;
  Communicator& communicator;
  const Optimizer& optimizer;
  Reduce reduce;
  std::span<float> parameters;
  std::vector<std::unique_ptr<LeafRunner>>& runners;  ///< one per stream
  int ranks_on_host;
};

/// Optimizer states of the elements that this rank updates, allocated when the first step is recorded.
struct OptimizerStates {
  std::pair<std::size_t, std::size_t> owned{0, 0};
  std::vector<Buffer> buffers;
};

/// Gradient arenas of each executor, shared by all programs of a run; grown before recording.
struct GradientArenas {
  std::vector<std::vector<Buffer>> executors;
};

/// One kind of step, recorded once: `leaves` micro-batches over all ranks, canonical sum, update.
class StepProgram {
 public:
  StepProgram(const StepContext& context, OptimizerStates& states, GradientArenas& arenas,
              std::uint32_t leaves);

  /// Runs the step that the loader was set to. Collective.
  void run(const Optimizer::Step& step);

  /// Results of all leaves of all ranks, in the order of leaves.
  std::span<const LeafResult> results() const { return all_results_; }
  double fold_seconds() const;
  double reduce_seconds() const { return reduce_seconds_; }
  double update_seconds() const { return update_seconds_; }

 private:
  struct ExecutorPlan;
  std::vector<ExecutorPlan> plan_executors() const;
  void allocate_arenas(const std::vector<ExecutorPlan>& plans);
  void allocate_states();
  void record(const std::vector<ExecutorPlan>& plans);
  void run_leaves(std::size_t executor, const ExecutorPlan& plan);
  void reduce_and_update();

  StepContext context_;
  OptimizerStates& states_;
  GradientArenas& arenas_;
  Assignment assignment_;
  std::unique_ptr<Reducer> reducer_;
  Optimizer::Step step_;
  std::vector<LeafResult> own_results_;
  std::vector<LeafResult> all_results_;
  std::vector<std::size_t> result_bytes_;
  std::vector<double> fold_seconds_;
  double reduce_seconds_ = 0.0;
  double update_seconds_ = 0.0;
  std::vector<std::span<float>> state_parts_;
  Reducer::Apply apply_;
  std::unique_ptr<Program> program_;
};

}  // namespace lockstep
