#pragma once

#include "lockstep/schedule.h"

namespace lockstep {

/// Where a run is.
struct SchedulePosition {
  double epoch;   ///< from 0
  double done;    ///< share of the steps after the warm-up that are done, in [0, 1]
  double warmup;  ///< share of all steps that is warm-up
};

/// Shares of the way from min_lr to the base rate, in [0, 1]. One file each; the names are those of
/// torch.optim.lr_scheduler.
double step_decay(const ScheduleOptions& options, const SchedulePosition& position);
double multi_step_decay(const ScheduleOptions& options, const SchedulePosition& position);
double cosine_decay(const ScheduleOptions& options, const SchedulePosition& position);
double polynomial_decay(const ScheduleOptions& options, const SchedulePosition& position);
double one_cycle(const ScheduleOptions& options, const SchedulePosition& position);

/// cos(pi * x) for x in [0, 1], within 1e-15, without the C library (whose results differ between versions).
double cos_pi(double x);
/// base to a power, by squaring.
double integer_power(double base, std::uint64_t exponent);

}  // namespace lockstep
