#include "core/awaited_counter.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <limits>
#include <thread>

namespace lockstep {
namespace {

/// Two threads take turns, each advancing its counter; both call `pause` before they advance.
template <class Pause>
void take_turns(AwaitedCounter& first, AwaitedCounter& second, std::uint32_t turns, const Pause& pause) {
  std::uint32_t shared = 0;  // read and written in turns; the thread sanitizer would report a race
  const std::jthread other([&] {
    for (std::uint32_t turn = 1; turn <= turns; ++turn) {
      first.await(turn);
      ++shared;
      pause(turn);
      second.advance();
    }
  });
  for (std::uint32_t turn = 1; turn <= turns; ++turn) {
    ++shared;
    pause(turn);
    EXPECT_EQ(first.advance(), turn);
    second.await(turn);
    EXPECT_EQ(shared, 2 * turn);
  }
}

TEST(AwaitedCounter, ThreadsTakeTurns) {
  AwaitedCounter first{}, second{};
  take_turns(first, second, 20000, [](std::uint32_t /*turn*/) {});
}

TEST(AwaitedCounter, ThreadsThatBlockedAreWokenInSharedMemoryOfZerosToo) {
  constexpr std::size_t bytes = 4096;
  for (const int sharing : {MAP_PRIVATE, MAP_SHARED}) {
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, sharing | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    auto* const counters = static_cast<AwaitedCounter*>(memory);
    take_turns(counters[0], counters[1], 50,
               [](std::uint32_t turn) { std::this_thread::sleep_for(spin_time * (turn % 4)); });
    munmap(memory, bytes);
  }
}

TEST(AwaitedCounter, MayWrapAround) {
  AwaitedCounter counter{};
  constexpr std::uint32_t largest = std::numeric_limits<std::uint32_t>::max();
  EXPECT_TRUE(counter.has_reached(largest));  // one before 0
  EXPECT_FALSE(counter.has_reached(1));
  counter.await(largest);
  counter.advance();
  EXPECT_TRUE(counter.has_reached(1));
  EXPECT_FALSE(counter.has_reached(2));
}

}  // namespace
}  // namespace lockstep
