#include "core/elementary.h"
#include "optim/schedules/schedule.h"

namespace lockstep {

/// torch.optim.lr_scheduler.CosineAnnealingLR over the steps after the warm-up, as in timm's `cosine`.
double cosine_decay(const ScheduleOptions&, const SchedulePosition& position) {
  return 0.5 * (1.0 + cosine_of_degrees(180.0 * position.done));
}

}  // namespace lockstep
