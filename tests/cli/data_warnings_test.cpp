#include "cli/train/data_warnings.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

EpochReport slow() {
  EpochReport epoch;
  epoch.epoch = 2;
  epoch.steps = 50;
  epoch.load_seconds = 1.5;
  epoch.load_share = 0.45;
  return epoch;
}

TrainOptions images() {
  TrainOptions options;
  options.data.name = "images";
  options.data.directory = "/nowhere";
  return options;
}

TEST(SlowReading, AdviceFitsTheRun) {
  const std::string start = "reading the samples took 45 % of the working time of epoch 2: ";
  TrainOptions options;
  EXPECT_EQ(slow_reading_warning(slow(), options), start + "use more threads or ranks");
  options.training.augment.hflip = 0.5;
  EXPECT_EQ(slow_reading_warning(slow(), options), start + "use fewer augmentations");
  EXPECT_EQ(slow_reading_warning(slow(), images()), start + "pack the images (lockstep data pack)");
  options.data.name = "images";
  EXPECT_EQ(slow_reading_warning(slow(), options),
            start + "pack the images (lockstep data pack), or use fewer augmentations");
  options.data.task = Task::multilabel;
  EXPECT_EQ(slow_reading_warning(slow(), options), start + "use fewer augmentations") << "cannot be packed";
}

TEST(SlowReading, OfAGpuIsThatItWaits) {
  EpochReport epoch = slow();
  epoch.load_is_waiting = true;
  const std::string start = "the GPU waited for samples during 45 % of epoch 2: give each rank more cores";
  EXPECT_EQ(slow_reading_warning(epoch, {}), start);
  EXPECT_EQ(slow_reading_warning(epoch, images()), start + ", or pack the images (lockstep data pack)");
}

TEST(SlowReading, ShortOrFastEpochsGiveNone) {
  EpochReport epoch = slow();
  epoch.steps = 49;
  EXPECT_EQ(slow_reading_warning(epoch, images()), "");
  epoch = slow();
  epoch.load_seconds = 1.0;
  EXPECT_EQ(slow_reading_warning(epoch, images()), "");
  epoch = slow();
  epoch.load_share = 0.3;
  EXPECT_EQ(slow_reading_warning(epoch, images()), "");
}

EpochReport epoch_with(int number, double test_accuracy) {
  EpochReport epoch;
  epoch.epoch = number;
  epoch.test.accuracy = test_accuracy;
  return epoch;
}

TEST(Majority, WarnsAfterTheFirstEpochAndTheWarmUp) {
  const MajorityClass cats{.name = "cat", .share = 0.5};
  TrainOptions options;
  EXPECT_EQ(majority_warning(epoch_with(1, 0.5), options, cats), "");
  EXPECT_EQ(majority_warning(epoch_with(2, 0.51), options, cats), "");
  EXPECT_EQ(
      majority_warning(epoch_with(2, 0.5), options, cats),
      "epoch 2: test accuracy 0.5000 is no better than always answering 'cat' (0.5000): try another --lr, a "
      "smaller --batch-size or more --epochs");
  options.training.schedule.warmup_epochs = 2.5;
  EXPECT_EQ(majority_warning(epoch_with(2, 0.5), options, cats), "");
  EXPECT_NE(majority_warning(epoch_with(3, 0.5), options, cats), "");
}

TEST(Majority, OfAllSamplesIsNoMeasure) {
  EXPECT_EQ(majority_warning(epoch_with(2, 1.0), {}, {.name = "cat", .share = 1.0}), "");
}

TEST(Majority, IsPrintedOnce) {
  const TrainOptions options;
  DataWarnings warnings(options, {.name = "cat", .share = 0.5});
  ::testing::internal::CaptureStderr();
  for (int number = 1; number < 5; ++number) warnings.look_at(epoch_with(number, 0.4));
  const std::string printed = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(printed.find("lockstep: warning: epoch 2: "), std::string::npos);
  EXPECT_EQ(printed.find('\n') + 1, printed.size());
}

TEST(DataWarnings, ArePrintedOnceAndAgainWhenTheirNumberGrows) {
  TrainOptions options = images();
  options.output.quiet = true;  // quiet runs also print warnings
  DataWarnings warnings(options);
  EpochReport epoch = slow();
  const auto printed = [&] {
    ::testing::internal::CaptureStderr();
    warnings.look_at(epoch);
    return ::testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ(printed(), "lockstep: warning: " + slow_reading_warning(epoch, options) + "\n");
  EXPECT_EQ(printed(), "");
  epoch.train = {.samples = 49963, .skipped = 37};
  const std::string line =
      "lockstep: warning: 37 of 50000 training samples could not be read and were skipped\n";
  EXPECT_EQ(printed(), line);
  EXPECT_EQ(printed(), "");
  epoch.test = {.samples = 5, .skipped = 1};
  EXPECT_EQ(printed(), "lockstep: warning: 1 of 6 test samples could not be read and were skipped\n");
}

}  // namespace
}  // namespace lockstep
