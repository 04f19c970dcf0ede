// Optimizers and schedules against PyTorch's, from references.json
// (bench/peers/make_optimizer_references.py).
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "lockstep/error.h"
#include "lockstep/optimizer.h"
#include "lockstep/schedule.h"

namespace lockstep {
namespace {

const nlohmann::json& references() {
  static const nlohmann::json json =
      nlohmann::json::parse(std::ifstream(LOCKSTEP_TEST_DATA "/optim/references.json"));
  return json;
}

void expect_follows(const char* reference, const OptimizerOptions& options) {
  const nlohmann::json& json = references().at("optimizers").at(reference);
  const auto rule = make_optimizer(options);
  auto parameters = json.at("start").get<std::vector<float>>();
  std::vector<std::vector<float>> states(rule->states().size(), std::vector<float>(parameters.size()));
  const std::vector<std::span<float>> state_spans(states.begin(), states.end());
  for (std::size_t step = 0; step < json.at("gradients").size(); ++step) {
    auto gradients = json.at("gradients")[step].get<std::vector<float>>();
    for (float& value : gradients) value *= 4.0F;  // sums over 4 samples
    rule->update(parameters, gradients, state_spans,
                 {.gradient_scale = 0.25F, .learning_rate = 0.1F, .number = step + 1});
    const auto expected = json.at("parameters")[step].get<std::vector<float>>();
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_NEAR(parameters[i], expected[i], 2e-6) << reference << ", step " << step + 1;
    }
  }
}

TEST(PyTorch, SgdWithMomentum) {
  expect_follows("sgd", {.name = "sgd", .momentum = 0.9, .weight_decay = 0.01});
}
TEST(PyTorch, SgdWithNesterovMomentum) {
  expect_follows("nesterov", {.name = "sgd", .momentum = 0.9, .nesterov = true, .weight_decay = 0.01});
}
TEST(PyTorch, AdamW) { expect_follows("adamw", {.name = "adamw", .weight_decay = 0.01}); }

class ScheduleReference : public testing::TestWithParam<ScheduleOptions> {};
TEST_P(ScheduleReference, HasPyTorchsRates) {
  const LearningRate rate(GetParam(), 0.4, 7, 10);
  const auto expected = references().at("schedules").at(GetParam().name).get<std::vector<double>>();
  ASSERT_EQ(expected.size(), 70U);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(rate.at(i + 1), expected[i], 4e-8) << "step " << i + 1;
  }
}
INSTANTIATE_TEST_SUITE_P(
    Schedules, ScheduleReference,
    testing::Values(ScheduleOptions{.name = "step", .decay_epochs = 3, .decay_rate = 0.5},
                    ScheduleOptions{.name = "multistep", .decay_rate = 0.5, .decay_milestones = {2, 5, 6}},
                    ScheduleOptions{.name = "cosine", .min_lr = 0.01},
                    ScheduleOptions{.name = "polynomial", .power = 2}, ScheduleOptions{.name = "onecycle"}),
    [](const auto& instance) { return instance.param.name; });

}  // namespace
}  // namespace lockstep
