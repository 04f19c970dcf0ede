#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/cuda/run_cuda_loss.h"

namespace lockstep::test {
namespace {

using cuda::Type;

/// Expects the CPU's results: exactly for up to 32 classes, approximately for more, because the GPU's threads
/// then sum in a different order.
void expect_as_on_cpu(LossCase given, Type type) {
  given.logits = rounded(given.logits, type);
  const LossResults cpu = run_loss(given, cpu::best_level());
  const Tensor cpu_grad = from_lanes(cpu.grad, given.logits.samples, given.logits.shape);
  const LossValues cuda = run_cuda_loss(given, type);
  const int classes = given.logits.shape.channels;
  EXPECT_EQ(cuda.result.correct, cpu.result.correct);
  EXPECT_EQ(cuda.result.correct5, cpu.result.correct5);
  EXPECT_EQ(cuda.predictions, cpu.predictions);
  if (!std::isfinite(cpu.result.loss)) {
    EXPECT_TRUE(same_number(cuda.result.loss, cpu.result.loss));
  } else {
    EXPECT_NEAR(cuda.result.loss, cpu.result.loss, (classes <= 32 ? 1e-14 : 1e-6) * cpu.result.loss);
  }
  if (classes <= 32) return expect_same(cuda.grad, cpu_grad, type, std::to_string(classes) + " classes");
  for (std::size_t i = 0; i < cpu_grad.values.size(); ++i) {
    const double wanted = cpu_grad.values[i];
    const double tolerance = (type == Type::bf16 ? 0x1p-8 : 1e-6) * std::abs(wanted);
    if (std::isnan(wanted)) {
      ASSERT_TRUE(std::isnan(cuda.grad.values[i])) << classes << " classes, element " << i;
    } else {
      ASSERT_NEAR(cuda.grad.values[i], wanted, tolerance + 1e-7) << classes << " classes, element " << i;
    }
  }
}

constexpr std::array class_counts = {1, 2, 7, 10, 32, 33, 100, 257, 1000};

TEST(CrossEntropyOnCuda, EqualsTheCpu) {
  for (const int classes : class_counts) {
    for (const int samples : {1, 17, 300}) {
      if (samples * classes > 50000) continue;
      for (const double scale : {0.01, 4.0, 60.0}) {
        for (const Type type : {Type::fp32, Type::tf32, Type::bf16}) {
          expect_as_on_cpu(random_case(samples, classes, scale), type);
        }
      }
    }
  }
}

TEST(CrossEntropyOnCuda, SoftTargetsAndEqualLogitsEqualTheCpu) {
  for (const int classes : class_counts) {
    for (const float smoothing : {0.0F, 0.1F}) {
      LossCase given = random_case(19, classes, 8.0);
      given.smoothing = smoothing;
      expect_as_on_cpu(given, Type::fp32);
      mix(given);
      expect_as_on_cpu(given, Type::fp32);
      expect_as_on_cpu(given, Type::bf16);
    }
    LossCase given = random_case(40, classes, 3.0);
    for (double& value : given.logits.values) value = std::round(value);
    expect_as_on_cpu(given, Type::fp32);
    std::ranges::fill(given.logits.values, 0.0);
    expect_as_on_cpu(given, Type::bf16);
  }
}

/// Puts the value at several classes, both the label's class and others.
TEST(CrossEntropyOnCuda, NanAndInfinityAreTheCpus) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const int classes : {2, 10, 40, 300}) {
    for (const double bad : {std::nan(""), infinity, -infinity}) {
      for (const int place : {0, 1, classes - 1}) {
        LossCase given = random_case(3, classes, 3.0);
        given.logits.at(1, place, 0, 0) = bad;
        expect_as_on_cpu(given, Type::fp32);
        given.labels[1] = place;
        expect_as_on_cpu(given, Type::bf16);
      }
    }
    LossCase given = random_case(2, classes, 3.0);
    std::fill(given.logits.values.begin(), given.logits.values.end(), std::nan(""));
    expect_as_on_cpu(given, Type::fp32);
    std::fill(given.logits.values.begin(), given.logits.values.end(), -infinity);
    expect_as_on_cpu(given, Type::fp32);
  }
}

TEST(CrossEntropyOnCuda, CountsSamplesWithoutMissingOnes) {
  for (const int classes : {10, 100}) {
    LossCase given = random_case(6, classes, 3.0);
    EXPECT_EQ(run_cuda_loss(given, Type::fp32).result.samples, 6U);
    given.labels[4] = -1;
    expect_as_on_cpu(given, Type::fp32);
    EXPECT_EQ(run_cuda_loss(given, Type::fp32).result.samples, 5U);
  }
}

TEST(CrossEntropyOnCuda, TheGradientChangesNothingElse) {
  for (const int classes : {10, 100}) {
    const LossCase given = random_case(23, classes, 5.0);
    const LossValues with = run_cuda_loss(given, Type::fp32);
    const LossValues without = run_cuda_loss(given, Type::fp32, false);
    EXPECT_EQ(with.result.loss, without.result.loss);
    EXPECT_EQ(with.result.correct, without.result.correct);
    EXPECT_EQ(with.predictions, without.predictions);
  }
}

}  // namespace
}  // namespace lockstep::test
