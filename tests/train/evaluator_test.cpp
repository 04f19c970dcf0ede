#include "train/evaluator.h"

#include <gtest/gtest.h>

#include "lockstep/models.h"
#include "train/label_results.h"
#include "train/phases.h"
#include "train/predictions.h"

namespace lockstep::test {
namespace {

class Evaluators : public testing::Test {
 protected:
  Evaluator make(std::uint64_t rounds) {
    return {network_.session, *network_.graph, test_set(), 8, network_.parameters.floats(), {}, rounds};
  }

  NetworkToEvaluate network_{small_network(), {.threads = 2}, 8};
};

TEST_F(Evaluators, RoundsDoNotChangeTheResult) {
  const Evaluation whole = make(1).run();
  EXPECT_EQ(whole.samples, 77U);
  for (const std::uint64_t rounds : {2U, 3U, 7U, 10U}) {  // ten leaves on two executors
    Evaluator evaluator = make(rounds);
    std::uint64_t asked = 0;
    const auto evaluation = evaluator.run_while([&] { return ++asked > 0; });
    ASSERT_TRUE(evaluation.has_value());
    EXPECT_EQ(asked, rounds);
    EXPECT_EQ(evaluation->loss, whole.loss);
    EXPECT_EQ(evaluation->accuracy, whole.accuracy);
    EXPECT_EQ(evaluation->samples, whole.samples);
  }
}

TEST_F(Evaluators, ConfusionCountsEachSampleOnce) {
  const Evaluation without = make(1).run();
  EXPECT_TRUE(without.confusion.empty());
  const auto classes = static_cast<std::size_t>(small_network().classes());
  for (const std::uint64_t rounds : {1U, 3U}) {
    Evaluator evaluator = make(rounds);
    evaluator.count_confusion(classes);
    for (int repeat = 0; repeat < 2; ++repeat) {
      const auto evaluation = evaluator.run_while([] { return true; });
      ASSERT_TRUE(evaluation.has_value());
      EXPECT_EQ(evaluation->loss, without.loss);
      ASSERT_EQ(evaluation->confusion.size(), classes * classes);
      std::uint64_t samples = 0, correct = 0;
      for (std::size_t i = 0; i < evaluation->confusion.size(); ++i) {
        samples += evaluation->confusion[i];
        if (i % (classes + 1) == 0) correct += evaluation->confusion[i];
      }
      EXPECT_EQ(samples, 77U);
      EXPECT_EQ(static_cast<double>(correct) / 77.0, without.accuracy);
    }
  }
}

/// The last micro-batch has five samples; the third has no readable sample.
TEST(Evaluation, LabelsAreThoseOfTheSamplesThatCanBeRead) {
  const auto is_bad = [](std::uint64_t id) { return id == 0 || id == 9 || id == 76 || id / 8 == 2; };
  Synthetic dataset = test_set().damaged(is_bad);
  dataset.set_task(Task::multilabel);
  const Predicted predicted(world(), small_network(), dataset, in_micro_batches_of(8));
  std::vector<float> outputs, targets;
  for (std::uint64_t id = 0; id < dataset.size(); ++id) {
    if (is_bad(id)) continue;
    outputs.insert(outputs.end(), predicted.of(id).begin(), predicted.of(id).end());
    targets.insert(targets.end(), dataset.targets(id).begin(), dataset.targets(id).end());
  }
  const std::vector<LabelResult> expected = label_results(outputs, targets, 4);
  for (const int threads : {1, 3}) {
    const Evaluation found = evaluate(world(), small_network(), first_values(small_network()), dataset,
                                      in_micro_batches_of(8, {.threads = threads}));
    EXPECT_EQ(found.skipped, 11U);
    ASSERT_EQ(found.labels.size(), 4U);
    for (std::size_t k = 0; k < 4; ++k) {
      EXPECT_EQ(found.labels[k].samples, expected[k].samples);
      EXPECT_EQ(found.labels[k].predicted, expected[k].predicted);
      EXPECT_EQ(found.labels[k].correct, expected[k].correct);
      EXPECT_EQ(found.labels[k].average_precision, expected[k].average_precision);
    }
    EXPECT_EQ(found.mean_average_precision, mean_average_precision(expected));
  }
}

TEST_F(Evaluators, RoundsFollowFromTheWork) {
  EXPECT_EQ(evaluation_rounds(network_.session, small_network(), 77, 8), 1U);
  const auto resnet50 = make_model("resnet50", {3, 224, 224}, 1000);  // 4.1e9 multiply-adds per image
  EXPECT_NEAR(static_cast<double>(evaluation_rounds(network_.session, *resnet50, 50000, 2)), 10225.0, 100.0);
  EXPECT_EQ(evaluation_rounds(network_.session, *resnet50, 50000, 64), 782U);  // no more rounds than leaves
  EXPECT_EQ(evaluation_rounds(network_.session, *resnet50, 0, 64), 1U);
}

}  // namespace
}  // namespace lockstep::test
