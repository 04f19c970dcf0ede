#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "ops/cpu/op.h"
#include "ops/lanes.h"

namespace lockstep::test {

/// Logits and targets of a loss.
struct LossCase {
  Tensor logits;
  std::vector<std::int32_t> labels{};  ///< labels for classification
  float smoothing = 0;
  std::vector<std::int32_t> others{};  ///< second labels of mixed samples
  std::vector<float> shares{};         ///< empty: samples are not mixed
  Task task = Task::classification;
  std::vector<float> targets{};  ///< targets of other tasks, [sample][output]
};

/// Random logits in [-scale / 2, scale / 2), exact in float, and labels.
inline LossCase random_case(int samples, int classes, double scale) {
  std::mt19937 generator(static_cast<unsigned>(samples * 1000 + classes));
  LossCase result{.logits = Tensor(samples, {classes, 1, 1})};
  for (double& value : result.logits.values) {
    const double uniform = static_cast<double>(generator()) / 4294967296.0 - 0.5;
    value = static_cast<double>(static_cast<float>(uniform * scale));
  }
  for (int n = 0; n < samples; ++n) {
    result.labels.push_back(static_cast<std::int32_t>(generator() % static_cast<unsigned>(classes)));
  }
  return result;
}

/// Gives each sample a second label and the share of its first label.
inline void mix(LossCase& given) {
  given.others.assign(given.labels.rbegin(), given.labels.rend());
  for (std::size_t n = 0; n < given.labels.size(); ++n) {
    given.shares.push_back(0.4F + 0.6F * static_cast<float>(n) / static_cast<float>(given.labels.size()));
  }
}

/// Random logits in [-scale / 2, scale / 2), exact in float, and targets in the same range, or 0 and 1.
inline LossCase random_target_case(Task task, int samples, int outputs, double scale, bool mixed) {
  std::mt19937 generator(static_cast<unsigned>(samples * 1000 + outputs));
  const auto uniform = [&] { return static_cast<double>(generator()) / 4294967296.0; };
  LossCase result{.logits = Tensor(samples, {outputs, 1, 1}), .task = task};
  for (double& value : result.logits.values) {
    value = static_cast<double>(static_cast<float>((uniform() - 0.5) * scale));
    result.targets.push_back(static_cast<float>(task == Task::multilabel ? std::floor(uniform() * 2.0)
                                                                         : (uniform() - 0.5) * scale));
  }
  for (int n = 0; mixed && n < samples; ++n) result.shares.push_back(static_cast<float>(uniform()));
  return result;
}

/// Results of a loss, computed from its definition or by a GPU.
struct LossValues {
  LeafResult result = {};
  std::vector<std::int32_t> predictions = {};
  Tensor grad;
};

struct LossResults {
  LeafResult result;
  std::vector<std::int32_t> predictions;
  Lanes grad;
};

/// Runs the loss on one instruction set, with or without its gradient.
inline LossResults run_loss(LossCase given, cpu::Level level, bool gradient = true) {
  const int samples = given.logits.samples;
  const cpu::Loss loss =
      cpu::plan_loss(given.logits.shape, {.task = given.task, .label_smoothing = given.smoothing}, level);
  const Lanes logits = to_lanes(given.logits);
  const auto lanes = static_cast<std::size_t>(cpu::groups_of(samples)) * cpu::lanes;
  LossResults results{{}, std::vector<std::int32_t>(lanes), Lanes(gradient ? logits.size() : 0)};
  const bool mixed = !given.shares.empty();
  cpu::LossMemory memory;
  // Other tasks have no labels, and `shares` has no padding: their losses must not access anything else.
  if (given.task == Task::classification) {
    given.labels.resize(lanes, -1);
    memory.labels = given.labels.data();
    memory.predictions = results.predictions.data();
    if (mixed) {
      given.others.resize(lanes, -1);
      given.shares.resize(lanes, 1.0F);
      memory.partner_labels = given.others.data();
    }
  }
  if (mixed) memory.shares = given.shares.data();
  memory.samples = samples;
  memory.logits = logits.data();
  memory.gradient = gradient ? results.grad.data() : nullptr;
  memory.targets = given.targets.data();
  memory.result = &results.result;
  loss(memory);
  results.predictions.resize(static_cast<std::size_t>(samples));
  return results;
}

/// Expects a loss's gradient, and zeros for missing samples. Tolerance: `absolute` + `relative` * |gradient|.
inline void expect_gradient(const Lanes& actual, const Tensor& expected, double absolute, double relative) {
  EXPECT_TRUE(actual.end_intact());
  const Tensor grad = from_lanes(actual, cpu::groups_of(expected.samples) * cpu::lanes, expected.shape);
  for (std::size_t i = 0; i < grad.values.size(); ++i) {
    const bool exists = i < expected.values.size();
    const double wanted = exists ? expected.values[i] : 0.0;
    ASSERT_NEAR(grad.values[i], wanted, exists ? absolute + relative * std::fabs(wanted) : 0.0)
        << expected.samples << " samples, " << expected.shape.channels << " outputs, element " << i;
  }
}

inline void expect_same_sums(const LeafResult& actual, const LeafResult& expected, double tolerance) {
  EXPECT_EQ(actual.correct, expected.correct);
  EXPECT_EQ(actual.samples, expected.samples);
  EXPECT_NEAR(actual.loss, expected.loss, tolerance * (1.0 + expected.loss));
  EXPECT_NEAR(actual.absolute_error, expected.absolute_error, tolerance * (1.0 + expected.absolute_error));
  EXPECT_NEAR(actual.target, expected.target, tolerance * (1.0 + expected.squared_target));
  EXPECT_NEAR(actual.squared_target, expected.squared_target, tolerance * (1.0 + expected.squared_target));
}

}  // namespace lockstep::test
