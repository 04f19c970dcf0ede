#pragma once

#include "lockstep/schedule.h"

namespace lockstep {

/// Where a run is.
struct SchedulePosition {
  double epoch;   ///< from 0
  double done;    ///< share of the steps after the warm-up that are done, in [0, 1]
  double warmup;  ///< share of all steps that is warm-up
};

/// Shares of the way from min_lr to the base rate, in [0, 1]. A file for each kind; the names are those of
/// torch.optim.lr_scheduler.
double step_decay(const ScheduleOptions& options, const SchedulePosition& position);
double multi_step_decay(const ScheduleOptions& options, const SchedulePosition& position);
double cosine_decay(const ScheduleOptions& options, const SchedulePosition& position);
double polynomial_decay(const ScheduleOptions& options, const SchedulePosition& position);
double one_cycle(const ScheduleOptions& options, const SchedulePosition& position);

}  // namespace lockstep
