#include "train/check_options.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "lockstep/training_options.h"
#include "support/expect_error.h"
#include "support/synthetic.h"

namespace lockstep {
namespace {

TEST(DefaultMicroBatches, AreTheLargestPowerOfTwoThatLeaves32Samples) {
  EXPECT_EQ(default_micro_batches(256), 8);
  EXPECT_EQ(default_micro_batches(512), 16);
  EXPECT_EQ(default_micro_batches(300), 4);
  EXPECT_EQ(default_micro_batches(250), 2);
  EXPECT_EQ(default_micro_batches(63), 1);
  EXPECT_EQ(default_micro_batches(1), 1);
  EXPECT_EQ(default_micro_batches(256, DeviceKind::cuda), 16);
  EXPECT_EQ(default_micro_batches(128, DeviceKind::cuda), 16);
  EXPECT_EQ(default_micro_batches(64, DeviceKind::cuda), 8);
  EXPECT_EQ(default_micro_batches(100, DeviceKind::cuda), 4);
  EXPECT_EQ(default_micro_batches(7, DeviceKind::cuda), 1);
  EXPECT_EQ(default_micro_batches(4096, DeviceKind::cuda), 16);
  EXPECT_EQ(default_micro_batches(8192, DeviceKind::cuda), 32);
}

TEST(DefaultMicroBatches, HaveSixteenSamplesInSmallBatches) {
  for (const int count : {1, 2, 3, 4, 8, 15}) EXPECT_EQ(default_micro_batches(16 * count), count);
}

TEST(BatchSizeFor, MakesThirtyStepsAnEpoch) {
  for (const auto& [samples, size] : std::vector<std::pair<std::uint64_t, int>>{{1, 32},
                                                                                {959, 32},
                                                                                {1919, 32},
                                                                                {1920, 64},
                                                                                {3839, 64},
                                                                                {3840, 128},
                                                                                {7680, 256},
                                                                                {1U << 30, 256}}) {
    EXPECT_EQ(batch_size_for(samples), size) << samples;
  }
}

TEST(EpochsFor, MakesAThousandSteps) {
  for (const auto& [steps, epochs] : std::vector<std::pair<std::uint64_t, int>>{
           {0, 60}, {1, 60}, {17, 59}, {20, 50}, {21, 48}, {33, 31}, {34, 30}, {5000, 30}}) {
    EXPECT_EQ(epochs_for(steps), epochs) << steps;
  }
}

TEST(UsedLanes, AreSixteenths) {
  EXPECT_EQ(used_lanes(16), 1.0);
  EXPECT_EQ(used_lanes(8), 0.5);
  EXPECT_EQ(used_lanes(20), 0.625);
}

TEST(MicroBatchesOf, NeedANumberOfSamples) {
  expect_error(Category::usage, {"batch-size: auto is for training"},
               [] { micro_batches_of({.size = by_data<int>}, DeviceKind::cpu); });
}

TEST(MicroBatchesOf, AreAsManyAsAreAskedForWhereTheyDivideTheBatch) {
  EXPECT_EQ(micro_batches_of({.size = 256}, DeviceKind::cpu), 8);
  EXPECT_EQ(micro_batches_of({.size = 256}, DeviceKind::cuda), 16);
  EXPECT_EQ(micro_batches_of({.size = 256, .micro_batches = 16}, DeviceKind::cuda), 16);
  expect_error(Category::usage, {"micro-batches: 7 micro-batches do not divide a batch of 256; 8 do"},
               [] { micro_batches_of({.size = 256, .micro_batches = 7}, DeviceKind::cpu); });
}

TEST(CheckInput, PixelsAreNumbersFrom0To1) {
  const auto check = [](std::vector<double> mean, std::vector<double> deviation, Encoding encoding) {
    check_input({.mean = std::move(mean), .deviation = std::move(deviation)}, encoding);
  };
  for (const Encoding encoding : {Encoding::pixels, Encoding::image_file}) {
    check({0.0, 1.0}, {1.0, 2e-38}, encoding);
    check({}, {}, encoding);
    expect_error(Category::usage, {"mean: 123.675 is not from 0 to 1", "by 255"}, [&] {
      check({0.5, 123.675}, {}, encoding);
    });
    expect_error(Category::usage, {"mean: -0.5 is not from 0 to 1"}, [&] { check({-0.5}, {}, encoding); });
    expect_error(Category::usage, {"std: 58.4 is not from 0 to 1"}, [&] { check({}, {58.4}, encoding); });
  }
  check({-100.0, 1e6}, {58.4}, Encoding::floats);
}

/// Forty samples. Sample 17 has a wrong label or wrong targets.
struct OneWrong : test::Synthetic {
  explicit OneWrong(Task task) : Synthetic(40, {1, 4, 4}, 4) { set_task(task); }
  int wrong_label = 0;
  std::vector<float> wrong_targets;
  TargetScale scale;

  int label(std::uint64_t id) const override { return id == 17 ? wrong_label : Synthetic::label(id); }
  std::span<const float> targets(std::uint64_t id) const override {
    return id == 17 ? std::span<const float>(wrong_targets) : Synthetic::targets(id);
  }
  TargetScale target_scale() const override { return scale; }
};

TEST(CheckTargets, NamesTheSampleWithALabelThatIsNone) {
  OneWrong data(Task::classification);
  for (const int label : {4, -1, 1'000'000}) {
    data.wrong_label = label;
    const std::string text = "test data: sample 17 has label {}, but there are 4 classes: labels are 0 to 3";
    expect_exact_error(Category::data, fmt::format(fmt::runtime(text), label),
                       [&] { check_targets(data, "test data"); });
  }
  data.wrong_label = 3;
  EXPECT_NO_THROW(check_targets(data));
}

TEST(CheckTargets, NamesTheSampleWithTargetsThatAreNone) {
  const auto refused = [](Task task, const std::vector<float>& targets, const std::string& message) {
    OneWrong data(task);
    data.wrong_targets = targets;
    expect_exact_error(Category::data, "data set: sample 17 has " + message, [&] { check_targets(data); });
  };
  refused(Task::regression, {}, "0 targets, but needs 1, as classes() says");
  refused(Task::regression, {1, 2}, "2 targets, but needs 1, as classes() says");
  refused(Task::regression, {NAN}, "target nan: give a finite number");
  refused(Task::multilabel, {1, 0, 1}, "3 targets, but needs 4, as classes() says");
  refused(Task::multilabel, {1, 0, 2, 0}, "target 2 for a label: give 1 if the label applies, else 0");
}

TEST(CheckTargets, TheScaleIsFiniteAndAboveZero) {
  OneWrong data(Task::regression);
  data.wrong_targets = {1};
  EXPECT_NO_THROW(check_targets(data));
  for (const TargetScale& scale : {TargetScale{4.0, 0.0}, {4.0, NAN}, {4.0, INFINITY}, {NAN, 1.0}}) {
    data.scale = scale;
    expect_error(Category::data, {"data set: target_scale() has mean "}, [&] { check_targets(data); });
  }
}

}  // namespace
}  // namespace lockstep
