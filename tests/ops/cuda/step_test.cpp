#include "ops/cuda/step.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "support/device_array.h"
#include "train/step/outcome.h"

namespace lockstep::cuda {
namespace {

using lockstep::test::DeviceArray;
using lockstep::test::run_kernels;

class Steps : public ::testing::Test {
 protected:
  /// Concludes the next step and returns its outcome from the log.
  StepOutcome conclude(const std::vector<LeafResult>& results, bool stops = true) {
    const DeviceArray<LeafResult> leaves(*device_, results);
    const std::uint32_t at = positions_.fetch()[0];
    run_kernels(*device_, [&](StreamHandle stream) {
      conclude_leaves(stream, leaves.data(), static_cast<std::uint32_t>(results.size()),
                      {inputs_.data(), outcomes_.data(), positions_.data()}, positions_.data(),
                      stopped_.data(), stops);
    });
    EXPECT_EQ(positions_.fetch(), (std::vector<std::uint32_t>{at + 1, at}));
    return outcomes_.fetch()[at];
  }

  std::unique_ptr<Device> device_ = make_cuda_device();
  DeviceArray<StepInput> inputs_{*device_, 4};
  DeviceArray<StepOutcome> outcomes_{*device_, 4};
  DeviceArray<std::uint32_t> positions_{*device_, 2};
  DeviceArray<std::uint32_t> stopped_{*device_, 1};
};

std::vector<LeafResult> results_of(std::size_t leaves) {
  std::vector<LeafResult> results(leaves);
  for (std::size_t i = 0; i < leaves; ++i) {
    results[i] = {.loss = std::exp(static_cast<double>(i * 37 % 11)) / 3.0,
                  .correct = i * 5 % 7,
                  .correct5 = i * 5 % 7 + 1,
                  .samples = 8 + i % 2};
  }
  return results;
}

TEST_F(Steps, SumResultsInTheOrderOfLeaves) {
  for (const std::size_t leaves : {1U, 2U, 63U}) {
    const std::vector<LeafResult> results = results_of(leaves);
    const StepOutcome outcome = conclude(results);
    const StepOutcome expected = outcome_of(results);
    EXPECT_EQ(outcome.samples, expected.samples);
    EXPECT_EQ(outcome.loss, expected.loss);
    EXPECT_EQ(outcome.correct, expected.correct);
    EXPECT_EQ(outcome.correct5, expected.correct5);
    EXPECT_EQ(outcome.gradient_scale, expected.gradient_scale);
    EXPECT_EQ(outcome.statistic_scale, expected.statistic_scale);
    EXPECT_EQ(outcome.updates, 1U);
  }
}

TEST_F(Steps, OfNoSamplesUpdateNothingAndStopNothing) {
  const StepOutcome nothing = conclude({{}, {}});
  EXPECT_EQ(nothing.updates, 0U);
  EXPECT_EQ(nothing.gradient_scale, 0.0F);
  EXPECT_EQ(conclude(results_of(2)).updates, 1U);
}

TEST_F(Steps, AfterALossThatIsNotFiniteUpdateNothing) {
  std::vector<LeafResult> bad = results_of(3);
  bad[1].loss = std::numeric_limits<double>::infinity();
  const StepOutcome good = conclude(results_of(3));
  EXPECT_EQ(good.updates, 1U);
  const StepOutcome stopped = conclude(bad);
  EXPECT_EQ(stopped.updates, 0U);
  EXPECT_TRUE(std::isinf(stopped.loss));
  const StepOutcome later = conclude(results_of(3));
  EXPECT_EQ(later.updates, 0U);
  EXPECT_EQ(later.loss, good.loss);
}

TEST_F(Steps, ThatAreSkippedDoNotStopOthers) {
  std::vector<LeafResult> bad = results_of(3);
  bad[1].loss = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(conclude(bad, false).updates, 0U);
  EXPECT_EQ(conclude(results_of(3), false).updates, 1U);
}

}  // namespace
}  // namespace lockstep::cuda
