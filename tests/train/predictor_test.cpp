#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "lockstep/error.h"
#include "support/expect_error.h"
#include "train/predictions.h"

namespace lockstep::test {
namespace {

TEST(Predictor, GivesTheOutputsThatAnEvaluationMeasures) {
  const auto network = network_with_batch_norm();
  EvaluationOptions options = in_micro_batches_of(8);
  options.input = {.mean = {0.3}, .deviation = {0.4}};
  const Predicted predicted(world(), *network, test_set(), options);
  ASSERT_EQ(predicted.samples, test_set().size());
  double loss = 0.0;
  std::uint64_t correct = 0;
  for (std::uint64_t i = 0; i < predicted.samples; ++i) {
    std::vector<double> probabilities(4);
    softmax(predicted.of(i), probabilities);
    const auto label = static_cast<std::size_t>(test_set().label(i));
    loss -= std::log(probabilities[label]);
    correct += std::ranges::max_element(probabilities) - probabilities.begin() == test_set().label(i);
  }
  const Evaluation measured = evaluate(world(), *network, first_values(*network), test_set(), options);
  EXPECT_NEAR(loss / 77.0, measured.loss, 1e-6);
  EXPECT_DOUBLE_EQ(static_cast<double>(correct) / 77.0, measured.accuracy);
}

TEST(Predictor, HasTheSameBitsForAnyThreadsAndMicroBatches) {
  const Synthetic many(1001, {1, 12, 12}, 4);
  const Predicted expected(world(), small_network(), many, in_micro_batches_of(64));
  ASSERT_EQ(expected.samples, 1001U);
  for (const int samples : {2, 16}) {
    for (const int threads : {1, 2, 3}) {
      const Predicted found(world(), small_network(), many,
                            in_micro_batches_of(samples, {.threads = threads}));
      EXPECT_EQ(found.values, expected.values) << samples << " samples, " << threads << " threads";
      EXPECT_EQ(found.blocks > 1, samples == 2) << "a block has at most 100 leaves for each thread";
    }
  }
}

TEST(Predictor, SamplesThatCannotBeReadKeepTheirPlaces) {
  const auto is_bad = [](std::uint64_t id) { return id % 3 == 0 || id > 30; };
  const Synthetic all(40, {1, 12, 12}, 4), some = all.damaged(is_bad);
  EvaluationOptions options = in_micro_batches_of(8, {.threads = 2});
  const Predicted whole(world(), small_network(), all, options);
  const Predicted found(world(), small_network(), some, options);
  std::vector<std::uint64_t> unreadable;
  for (std::uint64_t id = 0; id < 40; ++id) {
    if (is_bad(id)) {
      unreadable.push_back(id);
      EXPECT_TRUE(std::ranges::all_of(found.of(id), [](float output) { return std::isnan(output); })) << id;
    } else {
      EXPECT_TRUE(std::ranges::equal(found.of(id), whole.of(id))) << id;
    }
  }
  EXPECT_EQ(found.unreadable, unreadable);
  EXPECT_EQ(found.reasons[1], "sample 3: damaged");
  options.input.strict = true;
  expect_error(Category::data, {": damaged"}, [&] { Predicted(world(), small_network(), some, options); });
}

TEST(Predictor, PassesOnErrorsOfItsCaller) {
  expect_error(Category::resource, {"disk full"}, [&] {
    predict(world(), small_network(), first_values(small_network()), test_set(), in_micro_batches_of(8),
            [](const OutputBlock&) { throw Error(Category::resource, "disk full"); });
  });
}

/// Labels are needed only for evaluation; targets are copied with their samples.
TEST(Predictor, NeedsAFunctionAndTargetsButNoLabels) {
  struct Unlabelled : Synthetic {
    using Synthetic::Synthetic;
    int label(std::uint64_t /*id*/) const override { return -1; }
    std::span<const float> targets(std::uint64_t /*id*/) const override { return {}; }
  };
  Unlabelled data(40, {1, 12, 12}, 4);
  const ModelFile model = first_values(small_network());
  const EvaluationOptions options = in_micro_batches_of(8);
  EXPECT_EQ(Predicted(world(), small_network(), data, options).samples, 40U);
  expect_error(Category::data, {"data set: sample 0 has label -1"},
               [&] { evaluate(world(), small_network(), model, data, options); });
  data.set_task(Task::multilabel);
  expect_error(Category::data, {"data set: sample 0 has 0 targets, but needs 4"},
               [&] { predict(world(), small_network(), model, data, options, [](const OutputBlock&) {}); });
  expect_error(Category::usage, {"predict() needs a function"},
               [&] { predict(world(), small_network(), model, test_set(), options, {}); });
}

TEST(Softmax, IsExact) {
  std::vector<double> probabilities(3);
  softmax(std::vector<float>{1000.0F, 1000.0F, -1000.0F}, probabilities);
  EXPECT_EQ(probabilities, (std::vector<double>{0.5, 0.5, 0.0}));
  softmax(std::vector<float>{0.0F, 1.0F, 2.0F}, probabilities);
  EXPECT_NEAR(probabilities[2], 0.6652409557748219, 1e-14);
  softmax(std::vector<float>{0.0F, std::numeric_limits<float>::infinity(), 1.0F}, probabilities);
  EXPECT_TRUE(std::ranges::all_of(probabilities, [](double p) { return std::isnan(p); }));
}

TEST(Predictor, ProbabilitiesOfLabels) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(label_probability(0.0F), 0.5);
  EXPECT_NEAR(label_probability(1.5F), 1.0 / (1.0 + std::exp(-1.5)), 1e-15);
  EXPECT_NEAR(label_probability(-30.0F), 1.0 / (1.0 + std::exp(30.0)), 1e-26);
  EXPECT_EQ(label_probability(1e6F), 1.0);
  EXPECT_EQ(label_probability(-infinity), 0.0);
  EXPECT_TRUE(std::isnan(label_probability(std::numeric_limits<float>::quiet_NaN())));
}

}  // namespace
}  // namespace lockstep::test
