#include "train/loop/run_position.h"

#include <algorithm>

namespace lockstep {

std::uint64_t RunPosition::total_steps() const {
  const std::uint64_t all = run_.epoch.steps * static_cast<std::uint64_t>(run_.options.epochs);
  return run_.options.max_steps == 0 ? all : std::min(all, run_.options.max_steps);
}

int RunPosition::epochs() const { return epoch() - 1 + (ended_within_epoch() ? 1 : 0); }

BestEpoch RunPosition::best() const {
  return ended_within_epoch() && progress_.cut_best.epoch != 0 ? progress_.cut_best : progress_.best;
}

std::uint64_t RunPosition::epoch_end() const {
  return std::min(epoch_begin() + run_.epoch.steps, total_steps());
}

bool RunPosition::no_better_epoch_for_long() const {
  const int best = progress_.best.epoch;
  if (run_.options.early_stopping == 0 || best == 0 || !whole_epochs()) return false;
  return progress_.step / run_.epoch.steps >= static_cast<std::uint64_t>(best + run_.options.early_stopping);
}

}  // namespace lockstep
