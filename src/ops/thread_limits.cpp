#include "ops/thread_limits.h"

namespace lockstep {

NearestLimit nearest_limit(const ThreadLimits& limits, const Work& work) {
  NearestLimit nearest{"fma", work.flop / limits.flop_per_s};
  if (work.multiplies_bf16 && limits.bf16_flop_per_s) nearest = {"bf16", work.flop / *limits.bf16_flop_per_s};
  for (const MemoryLimit& memory : limits.memory) {
    const bool holds = memory.bytes == 0 || work.bytes <= static_cast<double>(memory.bytes);
    if (!holds) continue;
    const double seconds = work.bytes / memory.bytes_per_s;
    if (seconds > nearest.seconds) nearest = {memory.name, seconds};
    break;
  }
  return nearest;
}

}  // namespace lockstep
