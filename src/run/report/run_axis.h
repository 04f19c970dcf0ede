#pragma once

#include "run/run_record.h"

namespace lockstep {

/// Positions of a run's steps and epochs on the x axis of all charts: in epochs or, if no epoch is recorded
/// and the number of steps per epoch is unknown, in steps.
class RunAxis {
 public:
  explicit RunAxis(const RunRecord& record);

  const char* label() const { return counts_steps_ ? "step" : "epoch"; }
  /// Position of a step; NaN, which is not drawn, if its position among the epochs is unknown.
  double position(const StepReport& step) const;
  /// Position of the end of an epoch, which is below the epoch's number if --max-steps cut it.
  double position(const EpochReport& epoch) const { return end_of_epoch(epoch.epoch); }
  double end_of_epoch(double epoch) const;

 private:
  double per_epoch_;  ///< steps per epoch; 0: unknown
  double max_steps_;  ///< 0: no limit
  bool counts_steps_;
};

}  // namespace lockstep
