// Whole runs whose samples the host reads while the GPU computes.
#include <gtest/gtest.h>

#include <set>

#include "lockstep/sampler.h"
#include "support/expect_error.h"
#include "support/image_files.h"
#include "train/small_run.h"

namespace lockstep::test {
namespace {

/// Options with RandAugment and random resized crops, which the host computes.
TrainerOptions on(DeviceKind device, int threads = 1, bool graphs = true) {
  TrainerOptions chosen = augmented(options());
  chosen.reduce = Reduce::canonical;
  chosen.execution = {.device = device, .threads = threads, .cuda_graph = graphs};
  return chosen;
}

/// Losses of the steps, and of the test set after each epoch.
std::vector<double> losses_of(const FinishedRun& run) {
  std::vector<double> losses;
  for (const StepReport& step : run.steps) losses.push_back(step.loss);
  for (const EpochReport& epoch : run.epochs) {
    losses.push_back(epoch.test.loss);
    EXPECT_EQ(epoch.train.samples, train_set().size());
    EXPECT_EQ(epoch.test.samples, test_set().size());
    EXPECT_EQ(epoch.load_share > 0.0, epoch.load_seconds > 0.0) << "copies may be hidden";
    EXPECT_LT(epoch.load_share, 1.0);
  }
  return losses;
}

TEST(HostFedRun, HasTheSameBitsWithAnyNumberOfThreadsWithAndWithoutGraphs) {
  const std::vector<double> cpu = losses_of(train(on(DeviceKind::cpu)));
  const FinishedRun expected = train(on(DeviceKind::cuda));
  ASSERT_EQ(losses_of(expected).size(), cpu.size());
  for (std::size_t i = 0; i < cpu.size(); ++i) EXPECT_NEAR(losses_of(expected)[i], cpu[i], 1e-4);
  for (const int threads : {1, 2, 3}) {
    for (const bool graphs : {true, false}) {
      const FinishedRun found = train(on(DeviceKind::cuda, threads, graphs));
      EXPECT_EQ(losses_of(found), losses_of(expected)) << threads << " threads, graphs " << graphs;
      EXPECT_EQ(found.digest, expected.digest) << threads << " threads, graphs " << graphs;
    }
  }
}

TEST(HostFedRun, DoesNotDependOnEvaluationsInBetween) {
  std::string digests[2];
  for (const bool evaluates : {false, true}) {
    Trainer trainer = small_trainer(on(DeviceKind::cuda, 2));
    for (int step = 0; step < 7; ++step) {  // seven steps reach the second epoch
      trainer.steps(1);
      if (evaluates) {
        trainer.evaluate(test_set());
        trainer.evaluate(train_set());
      }
    }
    digests[evaluates ? 1 : 0] = trainer.digest();
  }
  EXPECT_EQ(digests[0], digests[1]);
}

TEST(HostFedRun, EndsWhileSamplesAreRead) {
  Trainer trainer = small_trainer(on(DeviceKind::cuda, 3));
  const StepTimes first = trainer.steps(1);
  EXPECT_EQ(first.steps, 1);
  EXPECT_EQ(first.samples, 64U);
  EXPECT_GT(trainer.steps_per_epoch(), 1U) << "nothing would be left to read";
}

/// Copy of `whole` in which the samples `ids` cannot be read.
Synthetic damaged(const Synthetic& whole, const std::set<std::uint64_t>& ids) {
  return whole.damaged([ids](std::uint64_t id) { return ids.contains(id); });
}

void expect_damaged(const Dataset& trained, const Dataset& tested, const std::vector<std::string>& words) {
  for (const int threads : {1, 3}) {
    for (const bool graphs : {true, false}) {
      expect_error(Category::data, words,
                   [&] { train(on(DeviceKind::cuda, threads, graphs), small_network(), trained, tested); });
    }
  }
}

TEST(HostFedRun, EndsAtTheFirstMicroBatchWithASampleThatCannotBeRead) {
  const Permutation order(train_set().size(), options().seed, 0);
  for (const std::uint64_t position : {std::uint64_t{0}, std::uint64_t{150}, train_set().size() - 1}) {
    const Synthetic train = damaged(train_set(), {order(position)});
    expect_damaged(train, test_set(),
                   {"sample " + std::to_string(order(position)) + ": damaged",
                    "; on a GPU no sample can be skipped", "lockstep data stats"});
  }
  const Synthetic several = damaged(train_set(), {order(200), order(38), order(47), order(40), order(100)});
  expect_damaged(
      several, test_set(),
      {"sample " + std::to_string(order(38)) + ": damaged", "of the 16 samples of its micro-batch, 3"});
}

TEST(HostFedRun, EndsAtATestSampleThatCannotBeRead) {
  Synthetic files = test_set();
  files.kind = Encoding::image_file;  // the host reads image files even without augmentation
  files.change = [](auto&&, auto& bytes) { bytes = encode_png(bytes, 12, 12, PNG_FORMAT_GRAY); };
  expect_damaged(train_set(), damaged(files, {70}),
                 {"sample 70: damaged", "; on a GPU no sample can be skipped"});
}

/// The test set is copied to GPU memory before the first step.
TEST(HostFedRun, DoesNotBeginWithATestSampleForTheGpusMemoryThatCannotBeRead) {
  const Synthetic test = damaged(test_set(), {70});
  expect_error(Category::data, {"sample 70: damaged"},
               [&] { const Trainer trainer = small_trainer(on(DeviceKind::cuda), train_set(), test); });
}

}  // namespace
}  // namespace lockstep::test
