#include "lockstep/schedule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "lockstep/error.h"
#include "support/expect_error.h"

namespace lockstep {
namespace {

/// Options of the schedule `name`, with a value for each option it uses.
ScheduleOptions options_of(const std::string& name, double min_lr) {
  ScheduleOptions options{.name = name};
  if (name != "constant") options.min_lr = min_lr;
  if (name == "step") options.decay_epochs = 2;
  if (name == "multistep") options.decay_milestones = {1, 2};
  return options;
}

/// PyTorch's rates are in references.json (bench/peers/make_optimizer_references.py).
TEST(Schedule, HasPyTorchsRates) {
  const auto references = nlohmann::json::parse(std::ifstream(LOCKSTEP_TEST_DATA "/optim/references.json"));
  for (const ScheduleOptions& options :
       {ScheduleOptions{.name = "step", .decay_epochs = 3, .decay_rate = 0.5},
        ScheduleOptions{.name = "multistep", .decay_rate = 0.5, .decay_milestones = {2, 5, 6}},
        ScheduleOptions{.name = "cosine", .min_lr = 0.01}, ScheduleOptions{.name = "polynomial", .power = 2},
        ScheduleOptions{.name = "onecycle"}}) {
    const LearningRate rate(options, 0.4, 7, 10);
    const auto expected = references.at("schedules").at(options.name).get<std::vector<double>>();
    ASSERT_EQ(expected.size(), 70U);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_NEAR(rate.at(i + 1), expected[i], 4e-8) << options.name << ", step " << i + 1;
    }
  }
}

TEST(Schedule, EveryRuleBeginsAfterALinearWarmUp) {
  for (const std::string& name : schedule_names()) {
    if (name == "onecycle") continue;  // rises by its own rule
    ScheduleOptions options{.name = name, .warmup_epochs = 2};
    if (name == "multistep") options.decay_milestones = {5};
    const LearningRate rate(options, 0.8, 10, 8);
    EXPECT_FLOAT_EQ(rate.at(1), 0.04F) << name;
    EXPECT_FLOAT_EQ(rate.at(10), 0.4F) << name;
    EXPECT_FLOAT_EQ(rate.at(20), 0.8F) << name;
    EXPECT_FLOAT_EQ(rate.at(21), 0.8F) << name;
    EXPECT_LE(rate.at(80), 0.8F) << name;
  }
}

TEST(Schedule, RatesStayBetweenTheBounds) {
  for (const std::string& name : schedule_names()) {
    const LearningRate rate(options_of(name, 0.1), 0.5, 13, 7);
    for (std::uint64_t step = 1; step <= 200; ++step) {  // also beyond the last step
      EXPECT_GE(rate.at(step), 0.1F) << name << ", step " << step;
      EXPECT_LE(rate.at(step), 0.5F) << name << ", step " << step;
    }
  }
}

TEST(Schedule, ConstantIsTheRateToTheLastBit) {
  const LearningRate rate({}, 0.2, 235, 10);
  for (const std::uint64_t step : {1u, 2u, 2350u, 5000u}) EXPECT_EQ(rate.at(step), 0.2F);
}

TEST(Schedule, LeastRateMayBeTheLargest) {
  const LearningRate rate({.name = "cosine", .min_lr = 0.7}, 0.7F, 10, 2);
  EXPECT_EQ(rate.at(1), 0.7F);
  EXPECT_EQ(rate.at(20), 0.7F);
}

TEST(Schedule, WarmUpOfAWholeNumberOfStepsIsThatNumber) {
  const LearningRate rate({.warmup_epochs = 0.29}, 1.0, 100, 1);  // 28.999999999999996 steps
  EXPECT_LT(rate.at(28), 1.0F);
  EXPECT_EQ(rate.at(28), static_cast<float>(28.0 / 29.0));
}

/// onecycle rises during 30 % of the steps, but only without a warm-up.
TEST(Schedule, AWarmUpOfLessThanAStepHasNoStep) {
  const LearningRate rate({.name = "onecycle", .warmup_epochs = 0.3}, 1.0, 3, 10);
  EXPECT_EQ(rate.at(1), 1.0F);
  EXPECT_LT(rate.at(2), 1.0F);
}

/// In doubles, 33 / 1.1 is less than 30.
TEST(Schedule, ADecayThatIsDueAtTheEndOfAnEpochIsNotLate) {
  const LearningRate rate({.name = "step", .decay_epochs = 1.1, .decay_rate = 0.9}, 1.0, 1, 60);
  for (const int epochs : {11, 22, 33, 44, 55}) {
    EXPECT_FLOAT_EQ(rate.at(static_cast<std::uint64_t>(epochs) + 1),
                    static_cast<float>(std::pow(0.9, epochs / 11 * 10)))
        << "after " << epochs << " epochs";
  }
}

TEST(Schedule, RefusesOptionsOfOtherRules) {
  const auto refused = [](const ScheduleOptions& options, const std::string& message) {
    expect_error(Category::usage, {message}, [&] { LearningRate(options, 0.1, 10, 10); });
  };
  refused({.min_lr = 0.01}, "min-lr: has no effect with --sched constant");
  refused({.name = "cosine", .decay_epochs = 2}, "decay-epochs: has no effect with --sched cosine");
  refused({.name = "step", .decay_milestones = {1}}, "decay-milestones: has no effect with --sched step");
  refused({.name = "onecycle", .decay_rate = 0.5}, "decay-rate: has no effect with --sched onecycle");
  refused({.name = "step", .power = 2}, "sched-power: has no effect with --sched step");
}

TEST(Schedule, NamesTheRateAsItWasGiven) {
  expect_error(Category::usage, {"min-lr: 5 is more than the learning rate 0.7"},
               [] { LearningRate({.name = "cosine", .min_lr = 5}, 0.7F, 10, 10); });
}

TEST(Schedule, RefusesImpossibleOptions) {
  const auto make = [](const ScheduleOptions& options) { LearningRate(options, 0.1, 10, 10); };
  EXPECT_THROW(make({.name = "cosinus"}), Error);
  EXPECT_THROW(make({.warmup_epochs = 10}), Error);
  EXPECT_THROW(make({.warmup_epochs = -1}), Error);
  EXPECT_THROW(make({.name = "step", .decay_epochs = 1e-20}), Error);
  EXPECT_THROW(make({.name = "step", .decay_rate = 0}), Error);
  EXPECT_THROW(make({.name = "multistep"}), Error);
  EXPECT_THROW(make({.name = "multistep", .decay_milestones = {3, 2}}), Error);
  for (const double base : {NAN, INFINITY, -0.1F}) {
    expect_error(Category::usage, {"lr: ", "is not a learning rate"},
                 [&] { LearningRate({}, base, 10, 10); });
  }
  expect_error(Category::usage, {"epochs: -3 is not a number of epochs"},
               [] { LearningRate({}, 0.1, 10, -3); });
  expect_error(Category::usage, {"0 steps per epoch: give at least 1"}, [] { LearningRate({}, 0.1, 0, 3); });
}

}  // namespace
}  // namespace lockstep
