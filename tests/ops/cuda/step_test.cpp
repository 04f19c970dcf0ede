#include "ops/cuda/step.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "train/outcome.h"

namespace lockstep::cuda {
namespace {

class Steps : public testing::Test {
 protected:
  StepOutcome conclude(const std::vector<LeafResult>& results) {
    conclude_leaves(nullptr, results.data(), static_cast<std::uint32_t>(results.size()),
                    {inputs_.data(), outcomes_.data(), &position_}, &stopped_);
    advance(nullptr, &position_);
    return outcomes_[position_ - 1];
  }

  std::vector<StepInput> inputs_{4};
  std::vector<StepOutcome> outcomes_{4};
  std::uint32_t position_ = 0;
  std::uint32_t stopped_ = 0;
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
  EXPECT_EQ(position_, 3U);
}

TEST_F(Steps, OfNoSamplesUpdateNothingAndStopNothing) {
  EXPECT_EQ(conclude({{}, {}}).updates, 0U);
  EXPECT_EQ(outcomes_[0].gradient_scale, 0.0F);
  EXPECT_EQ(conclude(results_of(2)).updates, 1U);
}

TEST_F(Steps, AfterALossThatIsNotFiniteUpdateNothing) {
  std::vector<LeafResult> bad = results_of(3);
  bad[1].loss = std::numeric_limits<double>::infinity();
  EXPECT_EQ(conclude(results_of(3)).updates, 1U);
  EXPECT_EQ(conclude(bad).updates, 0U);
  EXPECT_TRUE(std::isinf(outcomes_[1].loss));
  const StepOutcome later = conclude(results_of(3));
  EXPECT_EQ(later.updates, 0U);
  EXPECT_EQ(later.loss, outcomes_[0].loss);
}

}  // namespace
}  // namespace lockstep::cuda
