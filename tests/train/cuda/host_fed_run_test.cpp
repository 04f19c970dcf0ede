// Whole runs whose samples the host reads while the GPU computes.
#include <gtest/gtest.h>

#include <cmath>
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
  const auto network = small_network();
  std::string digests[2];
  for (const bool evaluates : {false, true}) {
    Trainer trainer(world(), *network, train_set(), test_set(), on(DeviceKind::cuda, 2));
    for (int step = 0; step < 7; ++step) {  // into the second epoch
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
  const auto network = small_network();
  Trainer trainer(world(), *network, train_set(), test_set(), on(DeviceKind::cuda, 3));
  const StepTimes first = trainer.steps(1);
  EXPECT_EQ(first.steps, 1);
  EXPECT_EQ(first.samples, 64U);
  EXPECT_GT(trainer.steps_per_epoch(), 1U) << "nothing would be left to read";
}

/// `whole`, in which some samples cannot be read. If they are PNG files, the host reads them even without
/// augmentation.
Synthetic torn(Synthetic whole, const std::set<std::uint64_t>& ids, Encoding kind = Encoding::pixels) {
  whole.kind = kind;
  whole.change = [ids, kind](std::uint64_t id, std::vector<std::uint8_t>& bytes) {
    if (ids.contains(id)) throw Error(Category::data, "sample " + std::to_string(id) + ": torn");
    if (kind == Encoding::image_file) bytes = encode_png(bytes, 12, 12, PNG_FORMAT_GRAY);
  };
  return whole;
}

void expect_torn(const Dataset& trained, const Dataset& tested, const std::vector<std::string>& words) {
  for (const int threads : {1, 3}) {
    for (const bool graphs : {true, false}) {
      expect_error(Category::data, words,
                   [&] { train(on(DeviceKind::cuda, threads, graphs), *small_network(), trained, tested); });
    }
  }
}

TEST(HostFedRun, EndsAtTheFirstMicroBatchWithASampleThatCannotBeRead) {
  const Permutation order(train_set().size(), options().seed, 0);
  for (const std::uint64_t position : {std::uint64_t{0}, std::uint64_t{150}, train_set().size() - 1}) {
    const Synthetic train = torn(train_set(), {order(position)});
    expect_torn(train, test_set(),
                {"sample " + std::to_string(order(position)) + ": torn",
                 "; on a GPU no sample can be skipped", "lockstep data stats"});
  }
  const Synthetic several = torn(train_set(), {order(200), order(38), order(47), order(40), order(100)});
  expect_torn(several, test_set(),
              {"sample " + std::to_string(order(38)) + ": torn", "of the 16 samples of its micro-batch, 3"});
}

TEST(HostFedRun, EndsAtATestSampleThatCannotBeRead) {
  const Synthetic test = torn(test_set(), {70}, Encoding::image_file);
  expect_torn(train_set(), test, {"sample 70: torn", "; on a GPU no sample can be skipped"});
}

/// This data set is copied to GPU memory before the first step.
TEST(HostFedRun, DoesNotBeginWithATestSampleForTheGpusMemoryThatCannotBeRead) {
  const Synthetic test = torn(test_set(), {70});
  const auto network = small_network();
  expect_error(Category::data, {"sample 70: torn"},
               [&] { const Trainer trainer(world(), *network, train_set(), test, on(DeviceKind::cuda)); });
}

}  // namespace
}  // namespace lockstep::test
