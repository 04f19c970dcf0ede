#pragma once

#include <memory>
#include <vector>

#include "lockstep/training_options.h"
#include "reduce/gradient_sums.h"
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
  std::span<const std::size_t> buckets;               ///< of the ring, see plan_ring_exchange
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

  /// Of the last run; see Program::phases.
  std::optional<PhaseSeconds> phases() const { return program_->phases(); }

 private:
  struct ExecutorPlan;
  std::vector<ExecutorPlan> plan_executors() const;
  void allocate_arenas(const std::vector<ExecutorPlan>& plans);
  void plan_exchange(const std::vector<ExecutorPlan>& plans);
  void record(const std::vector<ExecutorPlan>& plans);
  void record_leaves(Stream& stream, std::size_t executor, const ExecutorPlan& plan);
  std::vector<GradientPart> parts_of_leaf(const LeafRunner& runner, std::uint32_t leaf) const;
  void record_sum_and_update(Stream& stream);

  StepContext context_;
  GradientArenas& arenas_;
  Assignment assignment_;
  Buffer results_;  ///< LeafResults of all leaves
  std::unique_ptr<Gather> gather_results_;
  std::unique_ptr<GradientSums> gradients_;
  std::unique_ptr<Program> program_;
};

}  // namespace lockstep
