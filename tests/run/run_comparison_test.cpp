#include "run/report/run_comparison.h"

#include <gtest/gtest.h>

#include <limits>
#include <utility>

#include "support/temporary_folder.h"

namespace lockstep {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

StepReport step(std::uint64_t number, double loss) {
  return {.step = number, .samples = 256, .loss = loss, .learning_rate = 0.1F};
}

EpochReport epoch(int number, double test_loss) {
  return {.epoch = number, .train = {.loss = 0.5}, .test = {.loss = test_loss}};
}

/// Expects exactly one difference among the results.
void expect_difference(const RunRecord& a, const RunRecord& b, const Difference& expected) {
  const RunComparison comparison = compare_runs(a, b);
  ASSERT_EQ(comparison.results.size(), 1U);
  const Difference& found = comparison.results.front();
  EXPECT_EQ(found.name, expected.name);
  EXPECT_EQ(found.place, expected.place);
  EXPECT_EQ(found.a, expected.a);
  EXPECT_EQ(found.b, expected.b);
}

TEST(RunComparison, SameResultsWhateverTheTime) {
  RunRecord a, b;
  a.steps = {step(1, 2.5), step(2, nan)};
  a.epochs = {epoch(1, 0.25)};
  a.end = {.digest = "xxh3:01"};
  b = a;
  b.steps[0].seconds = 7.0;
  b.epochs[0].seconds = 7.0;
  const RunComparison comparison = compare_runs(a, b);
  EXPECT_TRUE(comparison.results.empty());
  EXPECT_EQ(comparison.common_steps, 2U);
  EXPECT_EQ(comparison.common_epochs, 1U);
  EXPECT_EQ(comparison.common_digests, 1U);
  EXPECT_TRUE(comparison.has_common());
}

TEST(RunComparison, NamesTheFirstStepThatDiffers) {
  RunRecord a;
  a.steps = {step(1, 2.5), step(2, 2.25), step(3, 2.0)};
  const auto expect_first = [&](const Difference& expected, auto&& change) {
    RunRecord b = a;
    change(b.steps);
    expect_difference(a, b, expected);
  };
  expect_first({"loss", "step 2", "2.25", "2.250001"}, [](auto& steps) { steps[1].loss += 1e-6; });
  expect_first({"loss", "step 3", "2", "nan"}, [](auto& steps) { steps[2].loss = nan; });
  expect_first({"samples", "step 3", "256", "10"}, [](auto& steps) { steps[2].samples = 10; });
  expect_first({"learning rate", "step 2", "0.1", "0.2"}, [](auto& steps) {
    steps[1].learning_rate = 0.2F;
    steps[2].learning_rate = 0.3F;
  });
}

TEST(RunComparison, OnlyCommonStepsCount) {
  RunRecord a, b;
  for (std::uint64_t number = 1; number <= 12; ++number) {
    if (number % 2 == 0) a.steps.push_back(step(number, static_cast<double>(number)));
    if (number % 3 == 0) b.steps.push_back(step(number, number == 12 ? 0.0 : static_cast<double>(number)));
  }
  EXPECT_EQ(compare_runs(a, b).common_steps, 2U);
  expect_difference(a, b, {"loss", "step 12", "12", "0"});
  expect_difference(b, a, {"loss", "step 12", "0", "12"});
  b.steps.pop_back();
  EXPECT_TRUE(compare_runs(a, b).results.empty());
  b.steps = {step(7, 1.0)};
  EXPECT_FALSE(compare_runs(a, b).has_common());
}

TEST(RunComparison, DigestsOfStepsAndEpochs) {
  RunRecord a, b;
  a.step_digests = {{10, "xxh3:01"}, {20, "xxh3:02"}, {30, "xxh3:03"}};
  b.step_digests = {{20, "xxh3:04"}, {30, "xxh3:05"}};
  a.epoch_digests = b.epoch_digests = {{1, "xxh3:06"}};
  EXPECT_EQ(compare_runs(a, b).common_digests, 3U);
  expect_difference(a, b, {"digest of steps", "step 20", "xxh3:02", "xxh3:04"});
  b.step_digests.clear();
  b.epoch_digests = {{1, "xxh3:07"}};
  expect_difference(a, b, {"digest of epochs", "epoch 1", "xxh3:06", "xxh3:07"});
}

TEST(RunComparison, Epochs) {
  RunRecord a, b;
  a.epochs = {epoch(1, 0.5), epoch(2, 0.25)};
  b.epochs = {epoch(1, 0.5), epoch(2, 0.125), epoch(3, 0.1)};
  EXPECT_EQ(compare_runs(a, b).common_epochs, 2U);
  expect_difference(a, b, {"test loss", "epoch 2", "0.25", "0.125"});
  b.epochs[1] = a.epochs[1];
  a.epochs[0].validation = {.loss = 0.5, .accuracy = nan};
  EXPECT_TRUE(compare_runs(a, b).results.empty());  // only one run has a validation set
  b.epochs[0].validation = {.loss = nan, .accuracy = nan};
  expect_difference(a, b, {"validation loss", "epoch 1", "0.5", "nan"});
}

TEST(RunComparison, AnEpochThatMaxStepsCutInOneRunOnlyIsNotCompared) {
  RunRecord a, b;
  a.environment = b.environment = {{"steps_per_epoch", "10"}};
  a.options = {{"max-steps", "15"}};
  a.epochs = {epoch(1, 0.5), epoch(2, 0.25)};
  b.epochs = {epoch(1, 0.5), epoch(2, 0.125)};
  a.epoch_digests = {{1, "xxh3:01"}, {2, "xxh3:02"}};
  b.epoch_digests = {{1, "xxh3:01"}, {2, "xxh3:03"}};
  for (const auto& [one, other] : {std::pair(&a, &b), {&b, &a}}) {
    const RunComparison comparison = compare_runs(*one, *other);
    EXPECT_TRUE(comparison.results.empty());
    EXPECT_EQ(comparison.common_epochs, 1U);
    EXPECT_EQ(comparison.common_digests, 1U);
  }
  for (const char* same_end : {"15", "20"}) {
    a.options = b.options = {{"max-steps", same_end}};
    const RunComparison comparison = compare_runs(a, b);
    EXPECT_EQ(comparison.results.size(), 2U) << "test loss and digest of epochs";
    EXPECT_EQ(comparison.common_epochs, 2U);
  }
}

TEST(RunComparison, EndsOfRunsOfDifferentLengthAreNotCompared) {
  RunRecord a, b;
  a.end = {.digest = "xxh3:01"};
  b.end = {.digest = "xxh3:02"};
  expect_difference(a, b, {"digest", "end", "xxh3:01", "xxh3:02"});
  a.options = {{"epochs", "10"}};
  b.options = {{"epochs", "20"}};
  EXPECT_FALSE(compare_runs(a, b).has_common());
  b.options.clear();
  EXPECT_FALSE(compare_runs(a, b).has_common());
  b.options = a.options;  // one run stopped early
  a.epochs = {epoch(1, 0.5)};
  b.epochs = {epoch(1, 0.5), epoch(2, 0.25)};
  EXPECT_EQ(compare_runs(a, b).common_digests, 0U);
  EXPECT_TRUE(compare_runs(a, b).results.empty());
}

TEST(RunComparison, OptionsAndEnvironment) {
  RunRecord a, b;
  a.options = {{"lr", "0.1"}, {"run-dir", "a"}, {"seed", "1"}, {"only-a", "x"}};
  b.options = {{"seed", "1"}, {"run-dir", "b"}, {"lr", "0.2"}, {"only-b", "y"}};
  a.environment = {{"ranks", "1"}, {"started", "now"}, {"command_line", "a"}};
  b.environment = {{"ranks", "2"}, {"started", "then"}, {"command_line", "b"}};
  const RunComparison comparison = compare_runs(a, b);
  ASSERT_EQ(comparison.options.size(), 3U);
  EXPECT_EQ(comparison.options[0].name, "lr");
  EXPECT_EQ(comparison.options[0].b, "0.2");
  EXPECT_EQ(comparison.options[1].name, "only-a");
  EXPECT_EQ(comparison.options[1].b, "none");
  EXPECT_EQ(comparison.options[2].a, "none");
  ASSERT_EQ(comparison.environment.size(), 1U);
  EXPECT_EQ(comparison.environment[0].name, "ranks");
}

TEST(RunRecord, DigestsOfAResumedRun) {
  const TemporaryFolder folder;
  const std::string epoch_line =
      R"({"event":"epoch","epoch":1,"train_loss":1,"train_accuracy":1,"test_loss":1,"test_accuracy":1,)"
      R"("images_per_second":1,"seconds":1,"digest":"xxh3:0e"})";
  folder.write("metrics.jsonl", R"({"event":"digest","step":10,"digest":"xxh3:0a"}
{"event":"digest","step":20,"digest":"xxh3:0b"}
{"event":"digest","step":20,"digest":"xxh3:0c"}
{"event":"digest","step":30,"digest":"xxh3:0d"}
)" + epoch_line + "\n");
  const RunRecord record = read_run_record(RunFolder(folder.path()));
  ASSERT_EQ(record.step_digests.size(), 3U);
  EXPECT_EQ(record.step_digests[1].number, 20U);
  EXPECT_EQ(record.step_digests[1].digest, "xxh3:0c");
  ASSERT_EQ(record.epoch_digests.size(), 1U);
  EXPECT_EQ(record.epoch_digests[0].digest, "xxh3:0e");
}

}  // namespace
}  // namespace lockstep
