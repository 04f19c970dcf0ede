#include "core/elementary.h"
#include "optim/schedules/schedule.h"

namespace lockstep {

/// torch.optim.lr_scheduler.PolynomialLR(power) over the steps after the warm-up; power 1 is linear.
double polynomial_decay(const ScheduleOptions& options, const SchedulePosition& position) {
  return integer_power(1.0 - position.done, options.power);
}

}  // namespace lockstep
