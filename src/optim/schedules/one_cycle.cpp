#include "core/elementary.h"
#include "optim/schedules/schedule.h"

namespace lockstep {

/// torch.optim.lr_scheduler.OneCycleLR with its defaults: from a 25th of the largest rate up to it, then down
/// to a 10,000th of the first one, both along a cosine. The rise is the warm-up.
double one_cycle(const ScheduleOptions&, const SchedulePosition& position) {
  constexpr double first = 1.0 / 25.0, last = first / 1e4;
  const auto along = [](double from, double to, double share) {
    return to + (from - to) * 0.5 * (1.0 + cosine_of_degrees(180.0 * share));
  };
  const double rise = position.warmup;
  return position.done < rise ? along(first, 1.0, position.done / rise)
                              : along(1.0, last, (position.done - rise) / (1.0 - rise));
}

}  // namespace lockstep
