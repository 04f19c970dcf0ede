// Steps of the program beside the same steps in PyTorch: the same start, samples and rule.
// bench/peers/make_replay_reference.sh wrote the files.
//
// LeNet: one hundred steps. The start is a network that PyTorch trained for 60 steps, because all losses
// before are alike. Losses agree to 3e-7 but for "sgd" from step 82 on, where they differ by up to 7e-6: a
// ReLU whose input is within rounding of zero (9e-8) may pass in one program and not in the other. A wrong
// gradient shows in the first steps.
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

/// Losses of the step events of a run directory; the steps count from 1 without a gap.
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

/// Losses of one epoch of at most `steps` steps by the reference's rule, from `start`, on two ranks.
std::vector<double> train(const nlohmann::json& reference, const std::string& start, std::size_t steps,
                          const std::vector<std::string>& more) {
  const TemporaryFolder runs;
  const std::filesystem::path run_directory = runs / "run";
  std::vector<std::string> arguments = {"train",
                                        "--model",
                                        reference.at("model").get<std::string>(),
                                        "--dataset",
                                        "fashion-mnist",
                                        "--epochs",
                                        "1",
                                        "--max-steps",
                                        std::to_string(steps),
                                        "--init-from",
                                        start,
                                        "--seed",
                                        text(reference, "seed"),
                                        "--batch-size",
                                        text(reference, "batch_size"),
                                        "--lr",
                                        text(reference, "learning_rate"),
                                        "--momentum",
                                        text(reference, "momentum"),
                                        "--weight-decay",
                                        text(reference, "weight_decay"),
                                        "--run-dir",
                                        run_directory.string()};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const Outcome outcome = lockstep(2, arguments);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  return step_losses(run_directory);
}

class Replay : public testing::TestWithParam<const char*> {};

TEST_P(Replay, AgreesWithPyTorchToRounding) {
  const nlohmann::json reference = read_reference(GetParam());
  const auto expected = reference.at("losses").get<std::vector<double>>();
  ASSERT_EQ(expected.size(), 100U);
  ASSERT_LT(expected.back(), 0.9 * expected.front()) << "a reference that learns nothing shows nothing";
  const std::vector<double> losses = train(reference, folder + "start.safetensors", expected.size(), {});
  ASSERT_EQ(losses.size(), expected.size());
  for (std::size_t i = 0; i < losses.size(); ++i) {
    EXPECT_NEAR(losses[i], expected[i], 1e-5 * expected[i]) << "step " << i + 1;
  }
}

INSTANTIATE_TEST_SUITE_P(Rules, Replay, testing::Values("sgd", "momentum"),
                         [](const auto& param) { return std::string(param.param); });

/// Batch norm by the statistics of each micro-batch, 18 layers, one epoch of the first 640 images. First
/// values are the program's own. "idle" has the losses of the same network without updates.
TEST(ReplayResNet18, FollowsPyTorch) {
  const nlohmann::json reference = read_reference("resnet18"), idle = read_reference("resnet18_idle");
  const auto expected = reference.at("losses").get<std::vector<double>>();
  ASSERT_EQ(expected.size(), 20U);
  const TemporaryFolder data;
  write_small_fashion_mnist(data, 640, 32);
  const std::string start = (data / "start.safetensors").string();
  const Outcome first_values =
      lockstep(0, {"train", "--model", folder + "resnet18_network.json", "--data-dir", data.string(),
                   "--epochs", "0", "--seed", text(reference, "seed"), "--save-model", start});
  ASSERT_EQ(first_values.status, 0) << first_values.err;
  const std::vector<double> losses =
      train(reference, start, expected.size(),
            {"--data-dir", data.string(), "--micro-batches", text(reference, "micro_batches")});
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
