#include "train/label_results.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include "core/random/philox.h"

namespace lockstep {
namespace {

using Floats = std::vector<float>;

double precision_of(const Floats& outputs, const Floats& targets) {
  return label_results(outputs, targets, 1)[0].average_precision;
}

/// Average precision by its definition: for each distinct score, precision and recall of "at least this
/// score".
double naive_average_precision(const Floats& outputs, const Floats& targets) {
  const std::set<float, std::greater<>> thresholds(outputs.begin(), outputs.end());
  double sum = 0.0, recall_before = 0.0, positives = 0.0;
  for (const float target : targets) positives += static_cast<double>(target);
  for (const float threshold : thresholds) {
    double predicted = 0.0, correct = 0.0;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i] < threshold) continue;
      predicted += 1.0;
      correct += static_cast<double>(targets[i]);
    }
    sum += correct / predicted * (correct / positives - recall_before);
    recall_before = correct / positives;
  }
  return sum;
}

TEST(LabelResults, AveragePrecisionByHand) {
  EXPECT_EQ(precision_of({3, 2, 1, 0}, {1, 1, 0, 0}), 1.0);
  EXPECT_EQ(precision_of({-1, -2, -3, -4}, {1, 1, 0, 0}), 1.0);
  EXPECT_DOUBLE_EQ(precision_of({3, 2, 1, 0}, {0, 0, 1, 1}), (1.0 / 3 + 2.0 / 4) / 2);
  EXPECT_DOUBLE_EQ(precision_of({3, 2, 1, 0}, {1, 0, 1, 0}), (1.0 + 2.0 / 3) / 2);
  EXPECT_DOUBLE_EQ(precision_of({0.1F, 0.4F, 0.35F, 0.8F}, {0, 0, 1, 1}),
                   (1.0 + 2.0 / 3) / 2);  // example from scikit-learn's documentation
  EXPECT_EQ(precision_of({-1}, {1}), 1.0);
}

TEST(LabelResults, EqualScoresAreOneThreshold) {
  EXPECT_DOUBLE_EQ(precision_of({1, 1, 1, 1}, {1, 0, 0, 0}), 0.25);
  EXPECT_DOUBLE_EQ(precision_of({1, 1, 1, 1}, {0, 0, 0, 1}), 0.25);
  EXPECT_DOUBLE_EQ(precision_of({2, 1, 1, 0}, {1, 1, 0, 1}), (1.0 + 2.0 / 3 + 3.0 / 4) / 3);
  EXPECT_DOUBLE_EQ(precision_of({0.0F, -0.0F}, {0, 1}), 0.5);
}

TEST(LabelResults, AveragePrecisionIsThatOfTheDefinition) {
  for (std::uint32_t seed = 0; seed < 50; ++seed) {
    Floats outputs, targets;
    for (std::uint32_t i = 0; i <= seed; ++i) {
      const auto words = philox(seed, {i, 0, 0, 0});
      const std::uint32_t distinct = seed % 2 == 0 ? 1000 : 5;  // few or many ties
      outputs.push_back(static_cast<float>(words[0] % distinct) - 2.0F);
      targets.push_back(words[1] % 3 == 0 || i == 0 ? 1.0F : 0.0F);
    }
    EXPECT_NEAR(precision_of(outputs, targets), naive_average_precision(outputs, targets), 1e-12) << seed;
  }
}

TEST(LabelResults, CountsAreThoseOfEachLabel) {
  const Floats outputs{3, -1, 0, 1, 2, 5, -2, 4, 0.5F};  // three samples, three labels
  const Floats targets{1, 1, 0, 0, 1, 0, 1, 0, 0};
  const std::vector<LabelResult> results = label_results(outputs, targets, 3);
  const auto counts = [&](std::size_t label) {
    return std::vector<std::uint64_t>{results[label].samples, results[label].predicted,
                                      results[label].correct};
  };
  EXPECT_EQ(counts(0), (std::vector<std::uint64_t>{2, 2, 1}));
  EXPECT_EQ(counts(1), (std::vector<std::uint64_t>{2, 2, 1}));
  EXPECT_EQ(counts(2), (std::vector<std::uint64_t>{0, 2, 0}));  // a logit of 0 does not predict the label
  EXPECT_EQ(results[2].average_precision, 0.0);
  EXPECT_DOUBLE_EQ(mean_average_precision(results),
                   (results[0].average_precision + results[1].average_precision) / 2);
}

TEST(LabelResults, WithoutSamplesAndWithoutNumbers) {
  EXPECT_EQ(mean_average_precision(label_results({}, {}, 2)), 0.0);
  EXPECT_EQ(mean_average_precision(label_results(Floats{1, 2}, Floats{0, 0}, 2)), 0.0);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(precision_of({1, nan}, {0, 1})));
}

}  // namespace
}  // namespace lockstep
