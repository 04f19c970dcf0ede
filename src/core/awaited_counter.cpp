#include "core/awaited_counter.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <thread>

namespace lockstep {
namespace {

/// Hints to the processor that the surrounding loop only waits for another core.
void spin_pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

bool AwaitedCounter::spin(std::uint32_t target) const {
  const auto start = std::chrono::steady_clock::now();
  do {
    for (int spins = 0; spins < 16; ++spins) {
      spin_pause();
      if (has_reached(target)) return true;
    }
  } while (std::chrono::steady_clock::now() - start < spin_time);
  return false;
}

/// Both counters are sequentially consistent: either the thread that advances the counter sees that another
/// is blocked, or the kernel sees the new value. The threads may belong to several processes, so
/// FUTEX_PRIVATE_FLAG, which is a little faster, is not set.
std::uint32_t AwaitedCounter::advance() {
  const std::uint32_t advanced = value_.fetch_add(1) + 1;
  if (blocked_.load() > 0) {
    syscall(SYS_futex, &value_, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
  }
  return advanced;
}

bool AwaitedCounter::block(std::uint32_t target) {
  blocked_.fetch_add(1);
  const std::uint32_t seen = value_.load();
  if (static_cast<std::int32_t>(seen - target) < 0) {
    syscall(SYS_futex, &value_, FUTEX_WAIT, seen, nullptr, nullptr, 0);
  }
  blocked_.fetch_sub(1);
  return has_reached(target);
}

void Polling::pause() {
  constexpr std::chrono::microseconds yielding{200}, asleep{50};
  const auto waited = Clock::now() - start_;
  if (waited < spin_time) {
    spin_pause();
  } else if (waited < yielding) {
    sched_yield();
  } else {
    std::this_thread::sleep_for(asleep);
  }
}

}  // namespace lockstep
