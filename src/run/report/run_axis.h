#pragma once

#include "run/run_record.h"

namespace lockstep {

/// Places of a run's steps and epochs on the x axis of all charts: in epochs or, if none is recorded and
/// their number of steps is unknown, in steps.
class RunAxis {
 public:
  explicit RunAxis(const RunRecord& record);

  const char* label() const { return counts_steps_ ? "step" : "epoch"; }
  /// NaN, which is not drawn, if the place of a step among the epochs is unknown.
  double position(const StepReport& step) const;
  /// End of an epoch: below its number if --max-steps cut it.
  double position(const EpochReport& epoch) const { return end_of_epoch(epoch.epoch); }
  double end_of_epoch(double epoch) const;

 private:
  double per_epoch_;  ///< steps; 0: unknown
  double max_steps_;  ///< 0: no limit
  bool counts_steps_;
};

}  // namespace lockstep
