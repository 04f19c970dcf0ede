#pragma once

#include <cstdint>
#include <optional>

#include "lockstep/reports.h"
#include "lockstep/sampler.h"
#include "train/loop/run_parts.h"

namespace lockstep {

/// The epoch in progress: its sums (Progress::epoch), which checkpoints contain, and the samples and times of
/// this process, which may have started within the epoch.
class EpochInProgress {
 public:
  explicit EpochInProgress(const RunParts& parts) : parts_(parts) {}

  /// Call before making the next steps.
  void enter();
  /// Adds the times of the last steps, and their outcomes, except outcomes that are not finite.
  void add(const StepTimes& times);
  /// Leaves out the steps up to step `to` of the run that are not made yet. Collective.
  void pass_over(std::uint64_t to);
  /// Call after steps were abandoned or undone: their samples will be visited again.
  void leave() { entry_.reset(); }
  /// Stores in Progress the sum of the contents that the epoch has read so far, for a checkpoint of this
  /// step. Collective.
  void store_contents();

  /// Checks, at the end of the epoch, that some samples could be read, that each sample was visited once, and
  /// that the epoch has read the same bytes as earlier epochs. Throws Error(data) or Error(internal) on all
  /// ranks. Collective.
  void check() const;
  /// Report on the epoch's steps, without evaluation.
  EpochReport report() const;
  /// Average seconds of the last steps.
  double step_seconds() const { return step_seconds_; }

 private:
  /// State when this process entered the epoch.
  struct Entry {
    VisitSum visits;             ///< visits of this rank before the entry
    VisitSum contents;           ///< contents of these visits
    std::uint64_t position = 0;  ///< number of steps of the epoch before the entry
    /// Contents that all ranks have read in the epoch before the entry; empty if unknown, for example after
    /// resuming a checkpoint of an earlier version.
    std::optional<VisitSum> epoch_contents = {};
  };

  Progress& progress() const { return parts_.state.progress; }
  /// Loss and metrics over the epoch's steps; NaN if no step counts.
  Evaluation training() const;
  void enter_at(std::uint64_t step);
  /// Order in which the epoch visits the samples.
  Permutation order() const;
  /// Contents of the epoch's samples so far, of all ranks. Collective.
  VisitSum epoch_contents() const;
  /// Contents of the samples of `steps` steps that the epoch leaves out, from `position` on. Collective.
  VisitSum contents_of_left_out(std::uint64_t position, std::uint64_t steps) const;
  /// Checks that each sample of the epoch's steps since this process entered the epoch was visited exactly
  /// once over all ranks. Throws Error(internal) on all ranks. Collective.
  void check_visits() const;
  /// Checks that the epoch has read the same bytes as earlier epochs: files may have changed, or may differ
  /// between hosts. Throws Error(data) on all ranks. Collective.
  void check_contents() const;

  const RunParts& parts_;
  std::optional<Entry> entry_;
  double step_seconds_ = 0.0;
  StepTimes work_;  ///< load and total working time of this rank's executors in the epoch
};

}  // namespace lockstep
