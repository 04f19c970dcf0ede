#pragma once

#include <future>
#include <optional>

#include "core/clock.h"
#include "lockstep/checkpoint.h"
#include "lockstep/error.h"
#include "lockstep/model_description.h"
#include "lockstep/reports.h"
#include "run/checkpoint/checkpoint_store.h"
#include "train/checkpoints/snapshot.h"
#include "train/loop/step_policy.h"

namespace lockstep {

/// Prints a warning of a checkpoint that could not be written, and of older ones that could not be removed.
/// `continues`: whether the run does.
void warn_of_checkpoint(const CheckpointReport& checkpoint, bool continues);

/// Writes checkpoints of a run in the background: a snapshot is taken at a step boundary, travels to rank 0,
/// and is written there by a thread. Rank 0 decides when. Arguments outlive the checkpointer.
class Checkpointer {
 public:
  /// `folder`: for checkpoints; only rank 0 uses it. `facts`, `description`: equal in all checkpoints of the
  /// run, except for progress and results.
  /// Collective. Throws Error(resource) on all ranks if memory is short.
  Checkpointer(const Session& session, const Run& run, TrainingState& state, std::filesystem::path folder,
               const CheckpointOptions& options, CheckpointState facts, ModelDescription description,
               const RunHooks& hooks);
  /// Waits for the writing thread.
  ~Checkpointer();
  Checkpointer(const Checkpointer&) = delete;
  Checkpointer& operator=(const Checkpointer&) = delete;

  /// Maximum number of steps from `step` on before a checkpoint is due.
  std::uint64_t steps_until_due(std::uint64_t step) const;
  /// Advances transfer and writing without waiting for them. Returns whether this rank asks for a checkpoint
  /// now, as at the end of each epoch and of the run. While the previous checkpoint is being written, only a
  /// new best epoch and the end of the run do not wait for a later boundary.
  bool is_due(Boundary boundary);
  /// Takes a snapshot of the present step boundary and begins to write it. Waits for the previous checkpoint.
  /// Collective.
  void begin();
  /// Waits until the last checkpoint is on disk, or has failed. Collective.
  void complete();
  /// Same as complete(), after begin() at the end of a run that was stopped. If the disk is full, tries again
  /// once a second, unless an attempt as long as the last one would end more than 20 s after this call. If
  /// that checkpoint has failed, throws an error of its category on all ranks, which also names the one
  /// before it. Collective.
  void finish();
  /// Sets checkpoints of later steps aside, which a run that was resumed makes again. Returns, on rank 0,
  /// sentences about them for the user. Collective. Throws Error(resource) on all ranks if one stays.
  std::vector<std::string> set_aside_later();
  /// Writes a checkpoint unless the folder has one of this step or an earlier one, so that a run with
  /// OnNan::rollback can begin. Collective.
  void ensure_one();
  /// Restores the newest good checkpoint before `step`, and sets later ones aside. Unless the options give a
  /// length of time, considers only checkpoints that an uninterrupted run has, too: of its beginning, of ends
  /// of epochs, and every Nth step. `reason`: for the message. Returns why later ones were not good, or were
  /// not set aside; empty: nothing failed. Collective. Throws Error(data) on all ranks if there is none.
  std::string roll_back(std::uint64_t step, const std::string& reason);

 private:
  bool writes() const { return session_.world().rank() == 0; }
  std::uint64_t best_step() const {
    return static_cast<std::uint64_t>(state_.progress.best.epoch) * run_.epoch.steps;
  }
  bool rolls_back() const { return run_.options.on_nan == OnNan::rollback; }
  /// Whether all runs with these options have a checkpoint of this step.
  bool is_regular(std::uint64_t step) const;
  std::optional<Checkpoint> newest_before(std::uint64_t step, std::string& remarks) const;
  void advance();
  void write();
  void report();

  const Session& session_;
  const Run& run_;
  TrainingState& state_;
  CheckpointStore store_;
  CheckpointOptions options_;
  CheckpointState facts_;
  ModelDescription description_;
  const RunHooks& hooks_;
  Snapshot snapshot_;
  CheckpointContents contents_;              ///< of the checkpoint that is transferred or written
  std::optional<CheckpointReport> pending_;  ///< of that checkpoint; none: there is none
  std::future<void> writing_;
  double last_begin_ = steady_seconds();
  bool late_ = false;             ///< whether a checkpoint that was due has been postponed
  std::uint64_t best_step_ = 0;   ///< end of the best epoch at the last snapshot; 0: none
  std::uint64_t last_step_;       ///< of the last checkpoint, or of the beginning
  std::uint64_t last_evaluated_;  ///< Progress::evaluated of the same
  std::optional<Error> failure_;  ///< why the last checkpoint could not be written
  double write_begin_ = 0.0;      ///< of the last attempt to write a checkpoint
  double end_of_attempts_ = 0.0;  ///< within finish(): attempts end before this time; else 0
  bool tries_again_ = false;      ///< whether finish() writes it again, as the disk was full
};

}  // namespace lockstep
