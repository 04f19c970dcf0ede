// One run with everything that makes a step depend on more than its own samples: batch norm, dropout, mixup,
// AdamW, clipping, a schedule and averages. It has one digest on any number of ranks and threads. 520 images:
// four batches of 128, and one of 8, in which only one rank has work.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "support/run.h"

namespace lockstep::test {
namespace {

using Arguments = std::vector<std::string>;

const std::string network = LOCKSTEP_SOURCE "/tests/program/networks/residual_dropout.json";
const Arguments recipe = {"--optimizer", "adamw", "--lr",    "0.002",  "--weight-decay", "0.05",
                          "--mixup",     "0.2",   "--sched", "cosine", "--clip-grad",    "0.5"};

class Recipe : public testing::Test {
 protected:
  Recipe() { write_small_fashion_mnist(folder_, 520, 100); }

  /// Digest after one epoch. Checks that the loss is finite.
  std::string digest(int ranks, const std::string& model, Arguments more) const {
    more.insert(more.begin(), {"train", "--data-dir", folder_.string(), "--model", model, "--epochs", "1",
                               "--batch-size", "128", "--micro-batches", "8"});
    const Outcome outcome = lockstep(ranks, more);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    const std::string epoch = line_after(outcome.out, "epoch 1/1  train loss ");
    EXPECT_TRUE(std::isfinite(std::strtod(epoch.c_str(), nullptr))) << epoch;
    return digest_of(outcome.out);
  }

  TemporaryFolder folder_;
};

Arguments with_average(const std::string& file, const std::string& threads) {
  Arguments arguments = recipe;
  arguments.insert(arguments.end(),
                   {"--model-ema", "--model-ema-decay", "0.9", "--save-model", file, "--threads", threads});
  return arguments;
}

/// The recipe without an option and its value.
Arguments without(const std::string& option) {
  Arguments rest = recipe;
  const auto place = std::ranges::find(rest, option);
  rest.erase(place, place + 2);
  return rest;
}

TEST_F(Recipe, HasOneDigestAndOneAverage) {
  const std::string file = (folder_ / "average.safetensors").string();
  const auto average = [&] { return digest_of(lockstep(0, {"inspect", file}).out); };
  const std::string expected = digest(1, network, with_average(file, "1"));
  const std::string expected_average = average();
  EXPECT_NE(expected, expected_average);
  for (const auto& [ranks, threads] :
       {std::pair{1, "2"}, {2, "1"}, {2, "2"}, {3, "1"}, {3, "2"}, {4, "1"}, {4, "2"}}) {
    EXPECT_EQ(digest(ranks, network, with_average(file, threads)), expected)
        << ranks << " ranks, " << threads << " threads";
    EXPECT_EQ(average(), expected_average) << ranks << " ranks, " << threads << " threads";
  }
}

TEST_F(Recipe, HasNoIngredientWithoutEffect) {
  const std::string all = digest(0, network, recipe);
  for (const char* option : {"--mixup", "--clip-grad", "--sched", "--weight-decay"}) {
    EXPECT_NE(digest(0, network, without(option)), all) << option;
  }
  nlohmann::json layers = nlohmann::json::parse(std::ifstream(network));
  const std::string undropped = (folder_ / "undropped.json").string();
  for (nlohmann::json& layer : layers.at("layers")) {
    if (layer.value("op", "") == "dropout") layer["p"] = 0.0;
  }
  std::ofstream(undropped) << layers;
  EXPECT_NE(digest(0, undropped, recipe), all);
  const std::string file = (folder_ / "average.safetensors").string();
  EXPECT_EQ(digest(0, network, with_average(file, "1")), all) << "averaging changes the training";
}

}  // namespace
}  // namespace lockstep::test
