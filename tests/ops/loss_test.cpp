#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/run_loss.h"

namespace lockstep::test {
namespace {

/// Results in double precision by the definition: loss = -sum(target * log(softmax)).
LossValues expected_values(const LossCase& given) {
  LossValues expected{.grad = given.logits};
  const int classes = given.logits.shape.channels;
  for (int n = 0; n < given.logits.samples; ++n) {
    const auto sample = static_cast<std::size_t>(n);
    const double* logits = &given.logits.values[static_cast<std::size_t>(n * classes)];
    const double* largest = std::max_element(logits, logits + classes);
    double sum = 0;
    for (int c = 0; c < classes; ++c) sum += std::exp(logits[c] - *largest);
    const double share = given.shares.empty() ? 1.0 : static_cast<double>(given.shares[sample]);
    for (int c = 0; c < classes; ++c) {
      const double own = c == given.labels[sample] ? share : 0;
      const double other = share < 1 && c == given.others[sample] ? 1 - share : 0;
      const double smoothing = static_cast<double>(given.smoothing);
      const double target = (1 - smoothing) * (own + other) + smoothing / classes;
      expected.result.loss -= target * (logits[c] - *largest - std::log(sum));
      expected.grad.at(n, c, 0, 0) = std::exp(logits[c] - *largest) / sum - target;
    }
    expected.result.correct += largest - logits == given.labels[sample] ? 1 : 0;
  }
  return expected;
}

class CrossEntropy : public ::testing::TestWithParam<cpu::Level> {
 protected:
  static LossResults run(const LossCase& given, bool gradient = true) {
    return run_loss(given, GetParam(), gradient);
  }
  static LossResults run(const std::vector<double>& logits, const std::vector<std::int32_t>& labels) {
    const auto samples = static_cast<int>(labels.size());
    LossCase given{Tensor(samples, {static_cast<int>(logits.size()) / samples, 1, 1}), labels};
    given.logits.values = logits;
    return run(given);
  }
};
INSTANTIATE_TEST_SUITE_P(Levels, CrossEntropy, ::testing::ValuesIn(cpu::available_levels()),
                         [](const auto& row) { return cpu::level_name(row.param); });

TEST_P(CrossEntropy, EqualsReference) {
  for (const int samples : {1, 15, 16, 17, 31, 32, 33}) {
    for (const int classes : {1, 2, 7, 10, 100}) {
      for (const double scale : {0.01, 4.0, 60.0}) {
        for (const bool soft : {false, true}) {
          LossCase given = random_case(samples, classes, scale);
          if (soft) given.smoothing = 0.1F;
          if (soft) mix(given);
          const LossValues expected = expected_values(given);
          const LossResults loss = run(given);
          EXPECT_NEAR(loss.result.loss, expected.result.loss,
                      (soft ? 1e-5 : 2e-7) * (samples + expected.result.loss));
          EXPECT_EQ(loss.result.correct, expected.result.correct);
          expect_gradient(loss.grad, expected.grad, soft ? 1e-6 : 3e-7, 0.0);
        }
      }
    }
  }
}

TEST_P(CrossEntropy, HasTheSameBitsOnEveryLevelWithAndWithoutGradient) {
  const LossCase input = random_case(29, 10, 20.0);
  const LossResults first = run_loss(input, cpu::available_levels().front());
  const LossResults other = run(input), forward_only = run(input, false);
  EXPECT_TRUE(first.grad.same_bits(other.grad));
  for (const LossResults* each : {&other, &forward_only}) {
    EXPECT_EQ(each->result.loss, first.result.loss);
    EXPECT_EQ(each->result.correct, first.result.correct);
  }
}

/// Covers the whole range of the exponential: all levels have the same bits, close to std::exp.
TEST_P(CrossEntropy, ExponentialIsAccurateAndTheSame) {
  LossCase given{Tensor(1024, {2, 1, 1}), std::vector<std::int32_t>(1024, 0)};
  for (int n = 0; n < 1024; ++n) {
    given.logits.at(n, 1, 0, 0) = static_cast<double>(static_cast<float>(-90.0 * n / 1024));
  }
  const LossResults loss = run(given);
  EXPECT_TRUE(run_loss(given, cpu::available_levels().front()).grad.same_bits(loss.grad));
  const Tensor grad = from_lanes(loss.grad, 1024, given.logits.shape);
  for (int n = 0; n < 1024; ++n) {
    const double e = std::exp(given.logits.at(n, 1, 0, 0));
    EXPECT_NEAR(grad.at(n, 1, 0, 0), e / (1 + e), 3e-7 * e + 1e-37);
  }
}

TEST_P(CrossEntropy, ExtremeLogitsAreFinite) {
  const LossResults loss = run({1e4, -1e4, 0, 1e4, -1e4, 0}, {0, 1});
  EXPECT_EQ(loss.result.loss, 2e4);
  EXPECT_EQ(loss.result.correct, 1U);
  EXPECT_EQ(from_lanes(loss.grad, 2, {3, 1, 1}).values, (std::vector<double>{0, 0, 0, 1, -1, 0}));
}

TEST_P(CrossEntropy, EqualLogitsCountTheLowestIndex) {
  const LossResults loss = run(std::vector<double>(8, 0.0), {0, 1});
  EXPECT_EQ(loss.result.correct, 1U);
  EXPECT_NEAR(loss.result.loss, 2 * std::log(4.0), 1e-15);
}

TEST_P(CrossEntropy, NanAndInfinityGiveNan) {
  for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    for (std::size_t position = 0; position < 3; ++position) {
      std::vector<double> logits(3, 0.0);
      logits[position] = bad;
      EXPECT_TRUE(std::isnan(run(logits, {1}).result.loss)) << position;
    }
  }
}

TEST_P(CrossEntropy, CountsTheFirstFive) {
  const std::vector<double> logits{0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7, 1, 1, 1, 1, 1, 1, 1, 1};
  EXPECT_EQ(run(logits, {3, 2, 4}).result.correct5, 2U);  // ties rank lower classes first
  EXPECT_EQ(run(logits, {7, 2, 5}).result.correct5, 1U);
}

}  // namespace
}  // namespace lockstep::test
