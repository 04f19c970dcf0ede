#include "optim/schedule.h"

#include <gtest/gtest.h>

#include <cmath>

#include "lockstep/error.h"
#include "optim/exact_math.h"

namespace lockstep {
namespace {

TEST(Schedule, CosineIsThatOfTheCLibrary) {
  for (int i = 0; i <= 1000; ++i) {
    const double x = i / 1000.0;
    EXPECT_NEAR(cos_pi(x), std::cos(3.14159265358979323846 * x), 2e-15) << x;
  }
}

TEST(Schedule, EveryRuleBeginsAfterALinearWarmUp) {
  for (const std::string& name : schedule_names()) {
    if (name == "onecycle") continue;  // rises by its own rule
    const LearningRate rate({.name = name, .warmup_epochs = 2, .decay_milestones = {5}}, 0.8, 10, 8);
    EXPECT_FLOAT_EQ(rate.at(1), 0.04F) << name;
    EXPECT_FLOAT_EQ(rate.at(10), 0.4F) << name;
    EXPECT_FLOAT_EQ(rate.at(20), 0.8F) << name;
    EXPECT_FLOAT_EQ(rate.at(21), 0.8F) << name;
    EXPECT_LE(rate.at(80), 0.8F) << name;
  }
}

TEST(Schedule, RatesStayBetweenTheBounds) {
  for (const std::string& name : schedule_names()) {
    const LearningRate rate({.name = name, .min_lr = 0.1, .decay_epochs = 2, .decay_milestones = {1, 2}}, 0.5,
                            13, 7);
    for (std::uint64_t step = 1; step <= 200; ++step) {  // beyond the last, too
      EXPECT_GE(rate.at(step), 0.1F) << name << ", step " << step;
      EXPECT_LE(rate.at(step), 0.5F) << name << ", step " << step;
    }
  }
}

TEST(Schedule, ConstantIsTheRateToTheLastBit) {
  const LearningRate rate({}, 0.2, 235, 10);
  for (const std::uint64_t step : {1u, 2u, 2350u, 5000u}) EXPECT_EQ(rate.at(step), 0.2F);
}

TEST(Schedule, RefusesImpossibleOptions) {
  const auto make = [](const ScheduleOptions& options) { LearningRate(options, 0.1, 10, 10); };
  EXPECT_THROW(make({.name = "cosinus"}), Error);
  EXPECT_THROW(make({.warmup_epochs = 10}), Error);
  EXPECT_THROW(make({.warmup_epochs = -1}), Error);
  EXPECT_THROW(make({.min_lr = 0.2}), Error);
  EXPECT_THROW(make({.decay_epochs = 0}), Error);
  EXPECT_THROW(make({.decay_rate = 0}), Error);
  EXPECT_THROW(make({.name = "multistep"}), Error);
  EXPECT_THROW(make({.name = "multistep", .decay_milestones = {3, 2}}), Error);
}

}  // namespace
}  // namespace lockstep
