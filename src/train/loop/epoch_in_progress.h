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

  /// To be called before the next steps are made.
  void enter();
  /// Adds the times of the last steps, and their outcomes except those that are not finite.
  void add(const StepTimes& times);
  /// Leaves out the steps up to the first `to` ones of the run, if they are not made yet. Collective.
  void pass_over(std::uint64_t to);
  /// To be called if steps were abandoned or undone: their samples will be visited again.
  void leave() { entry_.reset(); }
  /// Stores in Progress what the epoch has read so far, for a checkpoint of this step. Collective.
  void store_contents();

  /// Checks at the end: some samples could be read; the epoch has visited each sample once, and the same
  /// bytes as earlier epochs. Throws Error(data) or Error(internal) on all ranks. Collective.
  void check() const;
  /// Report on the epoch's steps, without evaluation.
  EpochReport report() const;
  /// Time of one of the last steps.
  double step_seconds() const { return step_seconds_; }

 private:
  /// Step at which this process has entered the epoch.
  struct Entry {
    VisitSum visits;             ///< visits of this rank before it
    VisitSum contents;           ///< their contents
    std::uint64_t position = 0;  ///< number of steps of the epoch before it
    /// Contents that all ranks have read of the epoch before this position. Empty if unknown, as after a
    /// checkpoint of an earlier version.
    std::optional<VisitSum> epoch_contents = {};
  };

  Progress& progress() const { return parts_.state.progress; }
  /// Loss and accuracy over the epoch's steps; NaN if none of them counts.
  Evaluation training() const;
  void enter_at(std::uint64_t step);
  /// Order in which the epoch visits the samples.
  Permutation order() const;
  /// Contents of the epoch's samples so far, of all ranks. Collective.
  VisitSum epoch_contents() const;
  /// Contents of the samples of `steps` steps at `position` of the epoch, which are not made. Collective.
  VisitSum contents_of_left_out(std::uint64_t position, std::uint64_t steps) const;
  /// Checks that each sample of the epoch, from the step at which this process has entered it, was visited
  /// exactly once, on some rank. Throws Error(internal) on all ranks. Collective.
  void check_visits() const;
  /// Checks that the epoch has read the same bytes as earlier epochs: files may have been changed, or hosts
  /// have different ones. Throws Error(data) on all ranks. Collective.
  void check_contents() const;

  const RunParts& parts_;
  std::optional<Entry> entry_;
  double step_seconds_ = 0.0;
  StepTimes work_;  ///< of the epoch: load, and total working time of this rank's executors
};

}  // namespace lockstep
