#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "run_loss.h"

namespace lockstep::testing {
namespace {

/// Results in double precision.
struct Expected {
  Tensor grad;
  double loss = 0;
  std::uint64_t correct = 0;
};

Expected expected_loss(const LossCase& samples) {
  Expected result{samples.logits};
  const int classes = samples.logits.shape.channels;
  for (int n = 0; n < samples.logits.samples; ++n) {
    const double* logits = &samples.logits.values[static_cast<std::size_t>(n * classes)];
    const double* largest = std::max_element(logits, logits + classes);
    double sum = 0;
    for (int c = 0; c < classes; ++c) {
      sum += std::exp(logits[c] - *largest);
    }
    const int label = samples.labels[static_cast<std::size_t>(n)];
    result.loss += std::log(sum) + *largest - logits[label];
    result.correct += largest - logits == label ? 1 : 0;
    for (int c = 0; c < classes; ++c) {
      result.grad.at(n, c, 0, 0) = std::exp(logits[c] - *largest) / sum - (c == label ? 1 : 0);
    }
  }
  return result;
}

TEST(CrossEntropy, EqualsReference) {
  for (const cpu::Level level : cpu::available_levels()) {
    for (const int samples : {1, 15, 16, 17, 31, 32, 33}) {
      for (const int classes : {1, 2, 10, 100}) {
        for (const double scale : {0.01, 4.0, 60.0}) {
          const LossCase input = random_case(samples, classes, scale);
          const Expected expected = expected_loss(input);
          const LossResults loss = run_loss(input, level);
          EXPECT_NEAR(loss.result.loss, expected.loss, 2e-7 * samples * (1 + expected.loss / samples));
          EXPECT_EQ(loss.result.correct, expected.correct);
          const Tensor grad = from_lanes(loss.grad, samples, input.logits.shape);
          for (std::size_t i = 0; i < grad.values.size(); ++i) {
            ASSERT_NEAR(grad.values[i], expected.grad.values[i], 3e-7);
          }
        }
      }
    }
  }
}

TEST(CrossEntropy, SameBitsOnEveryLevelWithAndWithoutGradient) {
  const LossCase input = random_case(29, 10, 20.0);
  const LossResults first = run_loss(input, cpu::available_levels().front());
  for (const cpu::Level level : cpu::available_levels()) {
    const LossResults other = run_loss(input, level);
    EXPECT_EQ(std::bit_cast<std::uint64_t>(first.result.loss),
              std::bit_cast<std::uint64_t>(other.result.loss));
    EXPECT_TRUE(first.grad.same_bits(other.grad));
    const LossResults forward_only = run_loss(input, level, false);
    EXPECT_EQ(forward_only.result.loss, first.result.loss);
    EXPECT_EQ(forward_only.result.correct, first.result.correct);
  }
}

/// Covers the whole range of the exponential: equal bits on every level, close to std::exp.
TEST(CrossEntropy, ExponentialIsAccurateAndTheSame) {
  const int samples = 1024;
  Tensor logits(samples, {2, 1, 1});
  for (int n = 0; n < samples; ++n) {
    logits.at(n, 1, 0, 0) = static_cast<double>(static_cast<float>(-90.0 * n / samples));
  }
  const std::vector<int> labels(static_cast<std::size_t>(samples), 0);
  const LossResults first = run_loss({logits, labels}, cpu::available_levels().front());
  for (const cpu::Level level : cpu::available_levels()) {
    const LossResults loss = run_loss({logits, labels}, level);
    EXPECT_TRUE(first.grad.same_bits(loss.grad));
    const Tensor grad = from_lanes(loss.grad, samples, logits.shape);
    for (int n = 0; n < samples; ++n) {
      const double e = std::exp(logits.at(n, 1, 0, 0));
      EXPECT_NEAR(grad.at(n, 1, 0, 0), e / (1 + e), 3e-7 * e + 1e-37);
    }
  }
}

TEST(CrossEntropy, MissingSamplesHaveNoGradient) {
  for (const cpu::Level level : cpu::available_levels()) {
    const LossCase input = random_case(17, 10, 3.0);
    const LossResults loss = run_loss(input, level);
    for (std::size_t i = 160; i < loss.grad.size(); ++i) {
      if (i % 16 >= 1) {
        ASSERT_EQ(loss.grad.data()[i], 0.0F);
      }
    }
    EXPECT_TRUE(loss.grad.end_intact());
  }
}

TEST(CrossEntropy, ExtremeLogitsAreFinite) {
  for (const cpu::Level level : cpu::available_levels()) {
    Tensor logits(2, {3, 1, 1});
    logits.values = {1e4, -1e4, 0, 1e4, -1e4, 0};
    const LossResults loss = run_loss({logits, {0, 1}}, level);
    EXPECT_EQ(loss.result.loss, 2e4);
    EXPECT_EQ(loss.result.correct, 1U);
    const Tensor grad = from_lanes(loss.grad, 2, logits.shape);
    EXPECT_EQ(grad.values, (std::vector<double>{0, 0, 0, 1, -1, 0}));
  }
}

TEST(CrossEntropy, EqualLogitsCountTheLowestIndex) {
  for (const cpu::Level level : cpu::available_levels()) {
    const Tensor logits(2, {4, 1, 1});
    const LossResults loss = run_loss({logits, {0, 1}}, level);
    EXPECT_EQ(loss.result.correct, 1U);
    EXPECT_NEAR(loss.result.loss, 2 * std::log(4.0), 1e-15);
  }
}

TEST(CrossEntropy, NanAndInfinityGiveNan) {
  for (const cpu::Level level : cpu::available_levels()) {
    for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity()}) {
      for (std::size_t position = 0; position < 3; ++position) {
        Tensor logits(1, {3, 1, 1});
        logits.values[position] = bad;
        EXPECT_TRUE(std::isnan(run_loss({logits, {1}}, level).result.loss)) << position;
      }
    }
  }
}

/// Compares smoothed targets and mixtures of two labels with the definition: -sum of target * log softmax.
TEST(CrossEntropy, SoftTargets) {
  const int classes = 7;
  const LossCase samples = random_case(19, classes, 6.0);
  LossCase soft = samples;
  soft.smoothing = 0.1F;
  for (int n = 0; n < 19; ++n) {
    soft.others.push_back(samples.labels[static_cast<std::size_t>(18 - n)]);
    soft.shares.push_back(0.3F + 0.03F * static_cast<float>(n));
  }
  double loss = 0;
  Tensor grad = expected_loss(samples).grad;
  for (int n = 0; n < 19; ++n) {
    const auto i = static_cast<std::size_t>(n);
    for (int c = 0; c < classes; ++c) {
      const double share = static_cast<double>(soft.shares[i]);
      const double own = c == samples.labels[i] ? 1 : 0;
      const double mixed = share * own + (c == soft.others[i] ? 1 - share : 0);
      const double target = (1 - 0.1) * mixed + 0.1 / classes;
      const double probability = grad.at(n, c, 0, 0) + own;
      loss -= target * std::log(probability);
      grad.at(n, c, 0, 0) = probability - target;
    }
  }
  for (const cpu::Level level : cpu::available_levels()) {
    const LossResults actual = run_loss(soft, level);
    EXPECT_NEAR(actual.result.loss, loss, 1e-5 * loss);
    const Tensor actual_grad = from_lanes(actual.grad, 19, samples.logits.shape);
    for (std::size_t i = 0; i < grad.values.size(); ++i) {
      EXPECT_NEAR(actual_grad.values[i], grad.values[i], 1e-6);
    }
  }
}

TEST(CrossEntropy, CountsTheFirstFive) {
  Tensor logits(3, {8, 1, 1});
  logits.values = {0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7, 1, 1, 1, 1, 1, 1, 1, 1};
  for (const cpu::Level level : cpu::available_levels()) {
    EXPECT_EQ(run_loss({logits, {3, 2, 4}}, level).result.correct5, 2U);  // equal logits: lower classes first
    EXPECT_EQ(run_loss({logits, {7, 2, 5}}, level).result.correct5, 1U);
  }
}

}  // namespace
}  // namespace lockstep::testing
