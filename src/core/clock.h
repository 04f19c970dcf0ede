#pragma once

#include <time.h>

#include <cstdint>

namespace lockstep {

/// Reading of a system clock, such as CLOCK_MONOTONIC or a clock of processor time. Safe in signal handlers.
inline std::int64_t clock_nanoseconds(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}
inline double clock_seconds(clockid_t clock) { return 1e-9 * static_cast<double>(clock_nanoseconds(clock)); }
/// Time of a clock that never goes backwards, for measuring durations.
inline double steady_seconds() { return clock_seconds(CLOCK_MONOTONIC); }

}  // namespace lockstep
