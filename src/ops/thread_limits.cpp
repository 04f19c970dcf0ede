#include "ops/thread_limits.h"

namespace lockstep {

NearestLimit nearest_limit(const ThreadLimits& limits, double flop, double bytes) {
  NearestLimit nearest{"fma", flop / limits.flop_per_s};
  for (const MemoryLimit& memory : limits.memory) {
    const bool holds = memory.bytes == 0 || bytes <= static_cast<double>(memory.bytes);
    if (!holds) continue;
    const double seconds = bytes / memory.bytes_per_s;
    if (seconds > nearest.seconds) nearest = {memory.name, seconds};
    break;
  }
  return nearest;
}

}  // namespace lockstep
