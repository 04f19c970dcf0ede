#pragma once

#include <cstdint>

#include "train/run.h"
#include "train/training_state.h"

namespace lockstep {

/// Position of a run at a step boundary: what is done and what comes next. Both arguments must outlive it.
class RunPosition {
 public:
  RunPosition(const Run& run, const Progress& progress) : run_(run), progress_(progress) {}

  std::uint64_t total_steps() const;  ///< number of steps of the whole run
  /// Whether all steps were made and their epochs evaluated, or early stopping ends the run.
  bool done() const { return !evaluation_due() && (all_steps_made() || no_better_epoch_for_long()); }
  /// Whether early stopping ended the run before its last step.
  bool stopped_early() const { return done() && !all_steps_made(); }
  /// Number of epochs whose steps are made and that are evaluated.
  int epochs() const;
  /// The best epoch. An epoch that max_steps cuts short counts only if the run ends there.
  BestEpoch best() const;

  /// Whether the last step of an epoch was made, and the epoch is not evaluated yet.
  bool evaluation_due() const {
    return progress_.step > progress_.evaluated && (whole_epochs() || all_steps_made());
  }
  /// Epoch, from 1, whose steps or evaluation come next.
  int epoch() const { return static_cast<int>(last_step() / run_.epoch.steps) + 1; }
  /// Number of steps of the run before epoch().
  std::uint64_t epoch_begin() const { return last_step() / run_.epoch.steps * run_.epoch.steps; }
  /// Number of steps of the run up to the end of epoch(), which max_steps may cut short.
  std::uint64_t epoch_end() const;
  /// Whether the steps made so far are whole epochs.
  bool whole_epochs() const { return progress_.step % run_.epoch.steps == 0; }

 private:
  bool all_steps_made() const { return progress_.step >= total_steps(); }
  bool ended_within_epoch() const { return done() && !whole_epochs(); }
  /// Whether early stopping ends the run here, at the end of an epoch.
  bool no_better_epoch_for_long() const;
  /// Number of steps made or, if an evaluation is due, one less, so that it falls into the epoch to evaluate.
  std::uint64_t last_step() const { return progress_.step - (evaluation_due() ? 1 : 0); }

  const Run& run_;
  const Progress& progress_;
};

}  // namespace lockstep
