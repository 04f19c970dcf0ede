#pragma once

#include <memory>
#include <vector>

#include "lockstep/training_options.h"
#include "reduce/reducer.h"
#include "train/backend.h"
#include "train/step_table.h"
#include "train/updater.h"

namespace lockstep {

/// What the steps of a run share. Everything outlives the programs.
struct StepContext {
  Backend& backend;
  Communicator& communicator;  ///< of arenas of the backend's device
  Updater& updater;
  StepTable& table;
  Reduce reduce;
  std::span<const double> rank_weights;
  std::span<float> parameters;
  std::span<const std::size_t> buckets;               ///< see ReducerOptions
  std::vector<std::unique_ptr<LeafRunner>>& runners;  ///< one per stream
};

/// Of a step with so many leaves: each stream of the device is an executor. `weights`: of the ranks.
Assignment assign_leaves(std::uint32_t leaves, const Communicator& communicator, Device& device,
                         std::span<const double> weights);

/// Gradient arenas of each executor, shared by all programs of a run; grown before recording.
struct GradientArenas {
  std::vector<std::vector<Buffer>> executors;
};

/// One kind of step, recorded once: `leaves` micro-batches over all ranks, sum, update.
class StepProgram {
 public:
  /// The runners' loader is set to a step of that kind.
  StepProgram(const StepContext& context, GradientArenas& arenas, std::uint32_t leaves);

  /// Runs the step that the loader and the table are at; its outcome goes to the table, which goes on to the
  /// next. Collective.
  void run();

  double fold_seconds() const;
  double reduce_seconds() const { return reduce_seconds_; }
  double update_seconds() const { return context_.updater.seconds(); }

 private:
  struct ExecutorPlan;
  std::vector<ExecutorPlan> plan_executors() const;
  void allocate_arenas(const std::vector<ExecutorPlan>& plans);
  void record(const std::vector<ExecutorPlan>& plans);
  void run_leaves(std::size_t executor, const ExecutorPlan& plan);
  void fold(std::size_t executor, const PartialSumPlan::LeafStep& leaf, std::size_t begin, std::size_t end);
  /// LeafResults of this rank's leaves; a lone rank's are all.
  LeafResult* own_results() const;
  void gather_results();
  void reduce_and_update();

  StepContext context_;
  GradientArenas& arenas_;
  Assignment assignment_;
  std::unique_ptr<Reducer> reducer_;
  Buffer own_results_, all_results_;  ///< LeafResults of this rank's leaves (unless it is alone), and of all
  std::vector<std::size_t> result_bytes_;  ///< of every rank
  std::vector<double> fold_seconds_;
  double reduce_seconds_ = 0.0;
  std::unique_ptr<Program> program_;
};

}  // namespace lockstep
