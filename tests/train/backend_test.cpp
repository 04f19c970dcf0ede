#include "train/session/backend.h"

#include <gtest/gtest.h>

#include <barrier>
#include <mutex>
#include <set>
#include <thread>

namespace lockstep {
namespace {

TEST(CpuBackend, CallsWorkOnAllItsThreadsAtOnce) {
  constexpr int threads = 3;
  const auto backend =
      make_cpu_backend({.execution = {.device = DeviceKind::cpu, .threads = threads}, .pin = false});
  std::barrier together(threads);  // never opens if one call starts only after another has returned
  std::mutex mutex;
  std::set<std::thread::id> seen;
  backend->on_host_threads([&] {
    together.arrive_and_wait();
    const std::lock_guard lock(mutex);
    seen.insert(std::this_thread::get_id());
  });
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(threads));
}

}  // namespace
}  // namespace lockstep
