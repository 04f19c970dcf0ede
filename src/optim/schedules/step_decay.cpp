#include <algorithm>

#include "core/elementary.h"
#include "optim/schedules/schedule.h"

namespace lockstep {

/// torch.optim.lr_scheduler.StepLR(step_size = decay_epochs, gamma = decay_rate), stepped once an epoch.
double step_decay(const ScheduleOptions& options, const SchedulePosition& position) {
  return integer_power(options.decay_rate, static_cast<std::uint64_t>(position.epoch / options.decay_epochs));
}

/// torch.optim.lr_scheduler.MultiStepLR(decay_milestones, gamma = decay_rate), stepped once an epoch.
double multi_step_decay(const ScheduleOptions& options, const SchedulePosition& position) {
  const auto& milestones = options.decay_milestones;
  const auto passed = std::upper_bound(milestones.begin(), milestones.end(), position.epoch);
  return integer_power(options.decay_rate, static_cast<std::uint64_t>(passed - milestones.begin()));
}

}  // namespace lockstep
