#include "watch/activity.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>

namespace lockstep {
namespace {

/// Activity whose parts are all computed from `number`.
Activity activity(std::uint64_t number) {
  return {.time = static_cast<std::int64_t>(number),
          .step = number * 3,
          .stage = static_cast<Stage>(number % 6),
          .waits = number % 2 == 1,
          .call = {.kind = static_cast<Collective>(number % 12),
                   .group = static_cast<Group>(number % 3),
                   .number = number * 5,
                   .bytes = number * 7}};
}

/// A rank on a CPU also fetches results from its device, so the text must not name a GPU.
TEST(Activity, ADeviceIsNotNamedAsAGpu) { EXPECT_EQ(describe({Collective::device, Group::alone}), "device"); }

TEST(ActivityRing, ZeroBytesAreEmpty) {
  const auto ring = std::make_unique<ActivityRing>();
  EXPECT_EQ(ring->count(), 0U);
  EXPECT_FALSE(ring->read(0));
  EXPECT_TRUE(ring->history().empty());
}

TEST(ActivityRing, KeepsTheLastActivities) {
  const auto ring = std::make_unique<ActivityRing>();
  constexpr std::uint64_t count = 3 * ActivityRing::capacity + 5;
  for (std::uint64_t i = 0; i < count; ++i) ring->add(activity(i));
  const std::vector<Activity> history = ring->history();
  ASSERT_EQ(history.size(), ActivityRing::capacity - 1);
  for (std::size_t i = 0; i < history.size(); ++i) {
    EXPECT_EQ(history[i], activity(count - history.size() + i));
  }
  EXPECT_FALSE(ring->read(count));
  EXPECT_FALSE(ring->read(count - ActivityRing::capacity));
}

TEST(ActivityRing, ReadersSeeWholeActivitiesWhileTheRankWrites) {
  const auto ring = std::make_unique<ActivityRing>();
  std::atomic<bool> read_enough{false};
  const std::jthread writer([&] {
    for (std::uint64_t i = 0; !read_enough; ++i) ring->add(activity(i));
  });
  std::uint64_t seen = 0, newest = 0;
  while (seen < 20000 || newest < 4 * ActivityRing::capacity) {
    for (const Activity& read : ring->history()) {
      const auto number = static_cast<std::uint64_t>(read.time);
      ASSERT_EQ(read, activity(number));
      newest = std::max(newest, number);
      ++seen;
    }
  }
  read_enough = true;
}

TEST(ActivityRing, CallsAreListedOnce) {
  const CollectiveCall first{.kind = Collective::sum, .group = Group::host, .number = 1, .bytes = 4};
  const CollectiveCall second{.kind = Collective::barrier, .group = Group::world, .number = 1, .bytes = 0};
  const std::vector<Activity> activities{
      {}, {.call = first}, {.waits = true, .call = first}, {.call = second}};
  EXPECT_EQ(calls_of(activities), (std::vector{first, second}));
}

}  // namespace
}  // namespace lockstep
