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

/// Prints warnings if a checkpoint could not be written, or older ones could not be removed. `continues`:
/// whether the run continues.
void warn_of_checkpoint(const CheckpointReport& checkpoint, bool continues);

/// Writes checkpoints of a run in the background: a snapshot is taken at a step boundary, sent to rank 0, and
/// written there by a thread. Rank 0 decides when. Arguments must outlive the checkpointer.
class Checkpointer {
 public:
  /// `folder`: folder of the checkpoints; only rank 0 uses it. `facts`, `description`: equal in all
  /// checkpoints of the run, except for progress and results. Collective. Throws Error(resource) on all ranks
  /// if memory is short.
  Checkpointer(const Session& session, const Run& run, TrainingState& state, std::filesystem::path folder,
               const CheckpointOptions& options, CheckpointState facts, ModelDescription description,
               const RunHooks& hooks);
  /// Waits for the writing thread.
  ~Checkpointer();
  Checkpointer(const Checkpointer&) = delete;
  Checkpointer& operator=(const Checkpointer&) = delete;

  /// Maximum number of steps from `step` on before a checkpoint is due.
  std::uint64_t steps_until_due(std::uint64_t step) const;
  /// Advances the transfer and the writing without waiting for them. Returns whether this rank requests a
  /// checkpoint now, for example at the end of each epoch and of the run. While the previous checkpoint is
  /// pending, a due checkpoint is postponed to a later boundary, except for a new best epoch, at the end of
  /// the run, and with OnNan::rollback unless the options give a length of time.
  bool is_due(Boundary boundary);
  /// Waits for the previous checkpoint, takes a snapshot of the present step boundary, and starts to write it
  /// in the background. Collective.
  void begin();
  /// Waits until the last checkpoint is on disk, or has failed. Collective.
  void complete();
  /// Same as complete(), for the last checkpoint of a stopped run, after begin(). If the disk is full,
  /// retries once a second, unless an attempt as long as the last one would end more than 20 s after this
  /// call. If the checkpoint cannot be written, throws an error of the failure's category on all ranks, which
  /// also names the previous checkpoint. Collective.
  void finish();
  /// Sets aside the checkpoints of later steps, which a resumed run makes again. Returns, on rank 0,
  /// sentences about them for the user. Collective. Throws Error(resource) on all ranks if a checkpoint
  /// cannot be set aside.
  std::vector<std::string> set_aside_later();
  /// Writes a checkpoint unless the folder has one of this step or an earlier one, so that a run with
  /// OnNan::rollback can begin. Collective.
  void ensure_one();
  /// Restores the newest good checkpoint before `step`, and sets later checkpoints aside. Prefers regular
  /// checkpoints, which an uninterrupted run also has: of its beginning, of ends of epochs, and of every Nth
  /// step; if the options give a length of time, every checkpoint is regular. `reason`: for the message.
  /// Returns why later checkpoints were not good or could not be set aside; empty if nothing failed.
  /// Collective. Throws Error(data) on all ranks if there is no good checkpoint before `step`.
  std::string roll_back(std::uint64_t step, const std::string& reason);

 private:
  bool writes() const { return session_.world().rank() == 0; }
  std::uint64_t best_step() const {
    return static_cast<std::uint64_t>(state_.progress.best.epoch) * run_.epoch.steps;
  }
  bool rolls_back() const { return run_.options.on_nan == OnNan::rollback; }
  /// Whether every run with these options has a checkpoint of this step; always true if the options give a
  /// length of time.
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
  CheckpointContents contents_;              ///< contents of the checkpoint being written
  std::optional<CheckpointReport> pending_;  ///< report on the checkpoint in progress, if any
  std::future<void> writing_;
  double last_begin_ = steady_seconds();
  bool late_ = false;             ///< whether a due checkpoint was postponed
  std::uint64_t best_step_ = 0;   ///< last step of the best epoch, as of the last snapshot; 0: none
  std::uint64_t last_step_;       ///< step of the last checkpoint or, before it, of the start
  std::uint64_t last_evaluated_;  ///< Progress::evaluated at last_step_
  std::optional<Error> failure_;  ///< why the last checkpoint could not be written
  double write_begin_ = 0.0;      ///< start of the last attempt to write a checkpoint
  double end_of_attempts_ = 0.0;  ///< deadline for attempts in finish(); else 0
  bool tries_again_ = false;      ///< whether finish() retries the write, as the disk was full
};

}  // namespace lockstep
