#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

#include "lanes.h"

namespace lockstep::testing {
namespace {

struct Loss {
  LeafResult result;
  Lanes grad;
};

/// Targets with several classes.
struct Soft {
  float smoothing = 0;
  std::vector<int> others{};  ///< empty: none
  std::vector<float> shares{};
};

Loss run_loss(const Tensor& logits, const std::vector<int>& labels, cpu::Level level, bool gradient = true,
              Soft soft = {}) {
  const cpu::Loss planned = cpu::plan_cross_entropy(logits.shape, soft.smoothing, level);
  const Lanes lanes = to_lanes(logits);
  std::vector<std::int32_t> padded(static_cast<std::size_t>(cpu::groups_of(logits.samples)) * 16, -1);
  std::copy(labels.begin(), labels.end(), padded.begin());
  Loss loss{{}, Lanes(gradient ? lanes.size() : 0)};
  cpu::LossMemory memory;
  memory.samples = logits.samples;
  memory.logits = lanes.data();
  memory.gradient = gradient ? loss.grad.data() : nullptr;
  memory.labels = padded.data();
  if (!soft.others.empty()) {
    soft.others.resize(padded.size(), -1);
    soft.shares.resize(padded.size(), 1.0F);
    memory.partner_labels = soft.others.data();
    memory.shares = soft.shares.data();
  }
  memory.result = &loss.result;
  planned.run(memory);
  return loss;
}

struct Samples {
  Tensor logits;
  std::vector<int> labels;
};

Samples random_samples(int samples, int classes, double scale) {
  std::mt19937 generator(5);
  Samples result{Tensor(samples, {classes, 1, 1}), {}};
  for (double& value : result.logits.values) {
    const double uniform = static_cast<double>(generator()) / 4294967296.0 - 0.5;
    value = static_cast<double>(static_cast<float>(uniform * scale));
  }
  for (int n = 0; n < samples; ++n) {
    result.labels.push_back(static_cast<int>(generator() % static_cast<unsigned>(classes)));
  }
  return result;
}

/// Results in double precision.
struct Expected {
  Tensor grad;
  double loss = 0;
  std::uint64_t correct = 0;
};

Expected expected_loss(const Samples& samples) {
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
          const Samples input = random_samples(samples, classes, scale);
          const Expected expected = expected_loss(input);
          const Loss loss = run_loss(input.logits, input.labels, level);
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
  const Samples input = random_samples(29, 10, 20.0);
  const Loss first = run_loss(input.logits, input.labels, cpu::available_levels().front());
  for (const cpu::Level level : cpu::available_levels()) {
    const Loss other = run_loss(input.logits, input.labels, level);
    EXPECT_EQ(std::bit_cast<std::uint64_t>(first.result.loss),
              std::bit_cast<std::uint64_t>(other.result.loss));
    EXPECT_TRUE(first.grad.same_bits(other.grad));
    const Loss forward_only = run_loss(input.logits, input.labels, level, false);
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
  const Loss first = run_loss(logits, labels, cpu::available_levels().front());
  for (const cpu::Level level : cpu::available_levels()) {
    const Loss loss = run_loss(logits, labels, level);
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
    const Samples input = random_samples(17, 10, 3.0);
    const Loss loss = run_loss(input.logits, input.labels, level);
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
    const Loss loss = run_loss(logits, {0, 1}, level);
    EXPECT_EQ(loss.result.loss, 2e4);
    EXPECT_EQ(loss.result.correct, 1U);
    const Tensor grad = from_lanes(loss.grad, 2, logits.shape);
    EXPECT_EQ(grad.values, (std::vector<double>{0, 0, 0, 1, -1, 0}));
  }
}

TEST(CrossEntropy, EqualLogitsCountTheLowestIndex) {
  for (const cpu::Level level : cpu::available_levels()) {
    const Tensor logits(2, {4, 1, 1});
    const Loss loss = run_loss(logits, {0, 1}, level);
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
        EXPECT_TRUE(std::isnan(run_loss(logits, {1}, level).result.loss)) << position;
      }
    }
  }
}

/// Compares smoothed targets and mixtures of two labels with the definition: -sum of target * log softmax.
TEST(CrossEntropy, SoftTargets) {
  const int classes = 7;
  const Samples samples = random_samples(19, classes, 6.0);
  Soft soft{.smoothing = 0.1F};
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
    const Loss actual = run_loss(samples.logits, samples.labels, level, true, soft);
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
    EXPECT_EQ(run_loss(logits, {3, 2, 4}, level).result.correct5, 2U);  // equal logits: lower classes first
    EXPECT_EQ(run_loss(logits, {7, 2, 5}, level).result.correct5, 1U);
  }
}

}  // namespace
}  // namespace lockstep::testing
