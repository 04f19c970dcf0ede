#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ops/run_loss.h"

/// Losses whose targets are numbers: regression and multi-label classification.
namespace lockstep::test {
namespace {

constexpr std::array tasks = {Task::regression, Task::multilabel};

/// Target of an output, mixed with the partner's target.
double target_of(const LossCase& given, int sample, int output) {
  const auto own = [&](int n) {
    return given.targets[static_cast<std::size_t>(n * given.logits.shape.channels + output)];
  };
  if (given.shares.empty()) return static_cast<double>(own(sample));
  const float share = given.shares[static_cast<std::size_t>(sample)];
  return static_cast<double>(
      std::fma(share, own(sample), (1.0F - share) * own(given.logits.samples - 1 - sample)));
}

/// Loss of one output in double precision, as PyTorch defines mse_loss and binary_cross_entropy_with_logits.
double expected_loss(Task task, double z, double t) {
  if (task == Task::regression) return (z - t) * (z - t);
  const double log_probability = z < 0.0 ? z - std::log1p(std::exp(z)) : -std::log1p(std::exp(-z));
  return -t * log_probability - (1.0 - t) * (log_probability - z);
}

double expected_gradient(Task task, double z, double t) {
  return task == Task::regression ? 2.0 * (z - t) : 1.0 / (1.0 + std::exp(-z)) - t;
}

/// Results in double precision.
LossValues expected_results(const LossCase& given) {
  LossValues expected{.grad = given.logits};
  const int outputs = given.logits.shape.channels;
  for (int n = 0; n < given.logits.samples; ++n) {
    for (int k = 0; k < outputs; ++k) {
      const double z = given.logits.at(n, k, 0, 0), t = target_of(given, n, k);
      expected.result.loss += expected_loss(given.task, z, t) / outputs;
      expected.result.correct += given.task == Task::multilabel && (z > 0.0) == (t > 0.5) ? 1 : 0;
      expected.result.absolute_error += std::fabs(z - t);
      expected.result.target += t;
      expected.result.squared_target += t * t;
      expected.grad.at(n, k, 0, 0) = expected_gradient(given.task, z, t) / outputs;
    }
  }
  expected.result.samples = static_cast<std::uint64_t>(given.logits.samples);
  return expected;
}

TEST(TargetLossReference, GradientIsTheDifferenceQuotientOfTheLoss) {
  for (const Task task : tasks) {
    for (const double z : {-30.0, -2.5, -0.1, 0.0, 0.3, 4.0, 25.0}) {
      for (const double t : {0.0, 0.25, 1.0}) {
        constexpr double step = 1e-5;
        const double quotient =
            (expected_loss(task, z + step, t) - expected_loss(task, z - step, t)) / (2.0 * step);
        EXPECT_NEAR(expected_gradient(task, z, t), quotient, 1e-8 * (1.0 + std::fabs(z))) << z << " " << t;
      }
    }
  }
}

class TargetLoss : public ::testing::TestWithParam<cpu::Level> {
 protected:
  /// Loss of one sample with one output.
  static LeafResult result_of(Task task, double z, float t) {
    LossCase given{.logits = Tensor(1, {1, 1, 1}), .task = task, .targets = {t}};
    given.logits.values = {z};
    return run_loss(given, GetParam()).result;
  }
};
INSTANTIATE_TEST_SUITE_P(Levels, TargetLoss, ::testing::ValuesIn(cpu::available_levels()),
                         [](const auto& row) { return cpu::level_name(row.param); });

TEST_P(TargetLoss, EqualsReference) {
  for (const Task task : tasks) {
    for (const int samples : {1, 15, 16, 17, 33}) {
      for (const int outputs : {1, 2, 7, 40}) {
        for (const double scale : {0.01, 4.0, 60.0}) {
          for (const bool mixed : {false, true}) {
            const LossCase given = random_target_case(task, samples, outputs, scale, mixed);
            const LossValues expected = expected_results(given);
            const LossResults loss = run_loss(given, GetParam());
            expect_same_sums(loss.result, expected.result, 2e-7);
            expect_gradient(loss.grad, expected.grad, 3e-7, 3e-7);
          }
        }
      }
    }
  }
}

TEST_P(TargetLoss, HasTheSameBitsOnEveryLevelWithAndWithoutGradient) {
  for (const Task task : tasks) {
    const LossCase given = random_target_case(task, 29, 5, 20.0, true);
    const LossResults first = run_loss(given, cpu::available_levels().front());
    const LossResults other = run_loss(given, GetParam());
    EXPECT_TRUE(first.grad.same_bits(other.grad));
    expect_same_sums(other.result, first.result, 0.0);
    expect_same_sums(run_loss(given, GetParam(), false).result, first.result, 0.0);
  }
}

TEST_P(TargetLoss, ExtremeLogitsAreFinite) {
  EXPECT_EQ(result_of(Task::multilabel, 1e4, 0.0F).loss, 1e4);
  EXPECT_EQ(result_of(Task::multilabel, 1e4, 1.0F).loss, 0.0);
  EXPECT_EQ(result_of(Task::multilabel, -1e4, 1.0F).loss, 1e4);
  EXPECT_NEAR(result_of(Task::multilabel, 0.0, 1.0F).loss, std::log(2.0), 1e-15);
  EXPECT_EQ(result_of(Task::regression, 1e18, 0.0F).loss, std::pow(static_cast<double>(1e18F), 2));
}

TEST_P(TargetLoss, NanAndInfinityAreNotFinite) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const Task task : tasks) {
    for (const double bad : {std::nan(""), infinity, -infinity}) {
      EXPECT_FALSE(std::isfinite(result_of(task, bad, 0.0F).loss + result_of(task, bad, 1.0F).loss)) << bad;
    }
  }
}

TEST_P(TargetLoss, ALogitOfZeroPredictsThatALabelDoesNotApply) {
  EXPECT_EQ(result_of(Task::multilabel, 0.0, 0.0F).correct, 1U);
  EXPECT_EQ(result_of(Task::multilabel, 0.0, 1.0F).correct, 0U);
  EXPECT_EQ(result_of(Task::multilabel, 0.1, 1.0F).correct, 1U);
}

}  // namespace
}  // namespace lockstep::test
