// Compares steps of the program with the same steps in PyTorch: same initial values, samples and update rule.
// bench/peers/make_replay_reference.sh wrote the reference files.
//
// LeNet: one hundred steps from initial values larger than its defaults, with which losses would hardly
// change. Losses agree to 3e-7 at first and later differ by up to 8e-6: a ReLU whose input is zero up to
// rounding may be active in one program and not in the other. A wrong gradient shows in the first steps.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/run.h"

namespace lockstep::test {
namespace {

const std::string folder = LOCKSTEP_TEST_DATA "/train/replay/";

nlohmann::json read_reference(const std::string& name) {
  std::ifstream file(folder + name + ".json");
  return nlohmann::json::parse(file);
}

std::string text(const nlohmann::json& reference, const std::string& key) { return reference.at(key).dump(); }

/// Losses of the step events of a run directory. Expects steps numbered from 1 without gaps.
std::vector<double> step_losses(const std::filesystem::path& run_directory) {
  std::ifstream file(run_directory / "metrics.jsonl");
  std::vector<double> losses;
  for (std::string line; std::getline(file, line);) {
    const auto event = nlohmann::json::parse(line);
    if (event.at("event") == "step") {
      losses.push_back(event.at("loss").get<double>());
      EXPECT_EQ(event.at("step").get<std::size_t>(), losses.size());
    }
  }
  return losses;
}

/// Trains on two ranks by the reference's rule for one epoch of at most `steps` steps and returns the losses.
/// Starts from the initial values of the network in the file `network`.
std::vector<double> train(const nlohmann::json& reference, const std::string& network, std::size_t steps,
                          const Words& more) {
  const TemporaryFolder runs;
  const std::filesystem::path run_directory = runs / "run", start = runs / "start.safetensors";
  const Outcome first_values =
      lockstep(0, words("train --dataset fashion-mnist --model {} --epochs 0 --seed {} --save-model {}",
                        folder + network, text(reference, "seed"), start) +
                      more);
  EXPECT_EQ(first_values.status, 0) << first_values.err;
  const Words arguments =
      words("train --dataset fashion-mnist --epochs 1 --max-steps {} --init-from {} --run-dir {}", steps,
            start, run_directory) +
      words("--model {} --seed {} --batch-size {} --lr {} --momentum {} --weight-decay {}",
            reference.at("model").get<std::string>(), text(reference, "seed"), text(reference, "batch_size"),
            text(reference, "learning_rate"), text(reference, "momentum"), text(reference, "weight_decay"));
  const Outcome outcome = lockstep(2, arguments + more);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  return step_losses(run_directory);
}

class Replay : public testing::TestWithParam<const char*> {};

TEST_P(Replay, AgreesWithPyTorchToRounding) {
  const nlohmann::json reference = read_reference(GetParam());
  const auto expected = reference.at("losses").get<std::vector<double>>();
  ASSERT_EQ(expected.size(), 100U);
  ASSERT_LT(expected.back(), 0.9 * expected.front()) << "a reference that learns nothing shows nothing";
  const std::vector<double> losses = train(reference, "lenet_network.json", expected.size(), {});
  ASSERT_EQ(losses.size(), expected.size());
  for (std::size_t i = 0; i < losses.size(); ++i) {
    EXPECT_NEAR(losses[i], expected[i], 1e-5 * expected[i]) << "step " << i + 1;
  }
}

INSTANTIATE_TEST_SUITE_P(Rules, Replay, testing::Values("sgd", "momentum"),
                         [](const auto& param) { return std::string(param.param); });

/// 18 layers with batch norm statistics per micro-batch, one epoch of the first 640 images, initial values
/// ten times as large as the program's defaults. "idle" has the losses of the same network without updates.
TEST(ReplayResNet18, FollowsPyTorch) {
  const nlohmann::json reference = read_reference("resnet18"), idle = read_reference("resnet18_idle");
  const auto expected = reference.at("losses").get<std::vector<double>>();
  ASSERT_EQ(expected.size(), 20U);
  const TemporaryFolder data;
  write_small_fashion_mnist(data, 640, 32);
  const std::vector<double> losses =
      train(reference, "resnet18_network.json", expected.size(),
            words("--data-dir {} --micro-batches {}", data, text(reference, "micro_batches")));
  ASSERT_EQ(losses.size(), expected.size());
  double effect = 0.0;
  for (std::size_t i = 0; i < losses.size(); ++i) {
    EXPECT_NEAR(losses[i], expected[i], 1e-3 * expected[i]) << "step " << i + 1;
    effect = std::max(effect, std::abs(expected[i] / idle.at("losses").at(i).get<double>() - 1.0));
  }
  EXPECT_GT(effect, 0.02) << "a reference in which updates change nothing shows nothing";
}

}  // namespace
}  // namespace lockstep::test
