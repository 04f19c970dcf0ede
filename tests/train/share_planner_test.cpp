#include "train/shares/share_planner.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace lockstep {
namespace {

using Leaves = std::vector<std::uint32_t>;

Shares shares_of(std::vector<std::size_t> ranks, Leaves leaves) {
  return {.ranks = std::move(ranks), .leaves = std::move(leaves)};
}

TEST(FastestShares, FollowSpeeds) {
  struct Case {
    Leaves before;
    std::vector<double> speeds;
    Leaves expected;
  };
  const std::vector<Case> cases = {{{4, 4}, {1, 1}, {4, 4}},
                                   {{4, 4}, {1, 0.95}, {4, 4}},
                                   {{5, 3}, {1, 1}, {4, 4}},
                                   {{4, 4}, {1, 0.5}, {5, 3}},
                                   {{4, 4}, {1, 0.4}, {6, 2}},
                                   {{4, 4}, {0.5, 1}, {3, 5}},
                                   {{4, 4}, {1, 0.01}, {7, 1}},
                                   {{3, 3, 2}, {1, 1, 1}, {3, 3, 2}},
                                   {{3, 3, 2}, {1, 0.5, 1}, {3, 2, 3}},
                                   {{2, 2, 2, 2}, {2, 1, 1, 2}, {3, 1, 1, 3}},
                                   {{1, 1, 0}, {1, 1, 0}, {1, 1, 0}}};
  for (const Case& c : cases) {
    const Shares fastest = fastest_shares(shares_of({0, c.speeds.size()}, c.before), c.speeds, false);
    EXPECT_EQ(fastest.leaves, c.expected) << testing::PrintToString(c.speeds);
  }
}

TEST(FastestShares, AreThoseOfRanksUnlessTheseKeepTheirs) {
  const Shares before = shares_of({0, 2, 4}, {4, 4, 4, 4});
  const std::vector<double> speeds = {1, 1, 1, 0.25};
  EXPECT_EQ(fastest_shares(before, speeds, true).leaves, (Leaves{4, 4, 7, 1}));
  EXPECT_EQ(fastest_shares(before, speeds, false).leaves, (Leaves{5, 5, 5, 1}));
}

/// A machine on which executor e needs `leaf_seconds[e]` per leaf.
struct Machine {
  std::vector<double> leaf_seconds;

  StepMeasurement measure(const Shares& shares) const {
    StepMeasurement measurement;
    for (std::size_t e = 0; e < leaf_seconds.size(); ++e) {
      measurement.computing.push_back(shares.leaves[e] * leaf_seconds[e]);
    }
    measurement.seconds = std::ranges::max(measurement.computing);
    return measurement;
  }
};

/// Reports `measurements` measurements to the planner and returns the shares after each.
std::vector<Leaves> follow(SharePlanner& planner, const Machine& machine, int measurements) {
  std::vector<Leaves> all;
  for (int i = 0; i < measurements; ++i) {
    const Shares before = planner.shares();
    const bool changed = planner.measured(machine.measure(before));
    EXPECT_EQ(changed, planner.shares() != before);
    all.push_back(planner.shares().leaves);
  }
  return all;
}

SharePlanner two_executors() { return SharePlanner(shares_of({0, 2}, {4, 4})); }

TEST(SharePlanner, EqualSpeedsKeepEqualShares) {
  SharePlanner planner = two_executors();
  EXPECT_EQ(follow(planner, {{1, 1}}, 100), std::vector<Leaves>(100, Leaves{4, 4}));
}

TEST(SharePlanner, SmallDifferencesChangeNothing) {
  SharePlanner planner = two_executors();
  for (int i = 0; i < 50; ++i) {
    follow(planner, {{1, 1.15}}, 1);
    follow(planner, {{1.15, 1}}, 1);
  }
  EXPECT_TRUE(planner.are_equal());
}

TEST(SharePlanner, ASlowExecutorGetsFewerAndGetsThemBack) {
  SharePlanner planner = two_executors();
  EXPECT_EQ(follow(planner, {{1, 2}}, 3), std::vector<Leaves>(3, Leaves{5, 3}));
  EXPECT_EQ(follow(planner, {{1, 1}}, 3), std::vector<Leaves>(3, Leaves{4, 4}));
  EXPECT_EQ(follow(planner, {{3, 1}}, 2), std::vector<Leaves>(2, Leaves{2, 6}));
}

/// Executor 1 shares its core with another program. With 3 of 8 leaves it stays within its fair share of the
/// core and seems as fast as executor 0; with 4 leaves it is slower.
TEST(SharePlanner, ATrialWithoutGainIsTakenBackAndRepeatedMoreRarely) {
  const auto measure = [](const Shares& shares) {
    const bool fair = shares.leaves[1] <= 3;
    return fair ? Machine{{1, 1}}.measure(shares) : Machine{{1, 2}}.measure(shares);
  };
  SharePlanner planner = two_executors();
  std::vector<int> trials;
  for (int i = 0; i < 200; ++i) {
    planner.measured(measure(planner.shares()));
    if (i > 0 && planner.are_equal()) trials.push_back(i);
  }
  EXPECT_LE(trials.size(), 10U);
  ASSERT_GE(trials.size(), 4U);
  for (std::size_t i = 2; i < trials.size(); ++i) {
    const int before = trials[i - 1] - trials[i - 2], after = trials[i] - trials[i - 1];
    EXPECT_GT(before, 1);  // a trial lasts for one measurement
    EXPECT_GE(after, before);
    EXPECT_LE(after, 36);
  }
}

/// Another program runs on the core with less work. With equal shares, both executors are slow.
TEST(SharePlanner, OnABusyMachineOneExecutorIsRelieved) {
  const auto measure = [](const Shares& shares) {
    Machine machine{{1.5, 1.5}};
    if (shares.leaves[0] > shares.leaves[1]) machine = {{1, 2}};
    if (shares.leaves[0] < shares.leaves[1]) machine = {{2, 1}};
    StepMeasurement measurement = machine.measure(shares);
    measurement.stolen = 0.4;
    // With equal shares, both executors are always busy, so taking turns with the other program slows both
    // down.
    if (shares.leaves[0] == shares.leaves[1]) measurement.seconds = 8;
    return measurement;
  };
  SharePlanner planner = two_executors();
  planner.measured(measure(planner.shares()));
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(std::ranges::max(planner.shares().leaves), 6U);
    planner.measured(measure(planner.shares()));
  }
  follow(planner, {{1, 1}}, 3);
  EXPECT_TRUE(planner.are_equal());
}

TEST(SharePlanner, NoiseCostsFewTrials) {
  SharePlanner planner = two_executors();
  int steps_apart = 0;
  for (int i = 0; i < 400; ++i) {
    // Each measurement claims that the executor with fewer leaves is fast, or executor 0 if shares are equal.
    StepMeasurement measurement = Machine{{1, 1}}.measure(planner.shares());
    measurement.computing[1] *= planner.are_equal() ? 2 : 1;
    planner.measured(measurement);
    steps_apart += planner.are_equal() ? 0 : 1;
  }
  EXPECT_LE(steps_apart, 18);
}

}  // namespace
}  // namespace lockstep
