// Gives each option of `lockstep train` to one rank only. The run ends with the digest of a run without it,
// or with status 2 and a line that names the option. It never hangs.
#include <gtest/gtest.h>

#include <cctype>

#include "cli/other_value.h"
#include "cli/train/train_options.h"
#include "support/run.h"

namespace lockstep::test {
namespace {

const Words training = words(
    "train --dataset synthetic --synthetic-shape 1x28x28 --samples 96 --epochs 1 --batch-size 32 "
    "--micro-batches 4 --device cpu --model mlp:8");

std::string variable(const std::string& option, const std::string& value) {
  std::string name = "LOCKSTEP_";
  for (const char c : option) {
    name += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return name + "=" + value;
}

/// Runs two ranks with the environment `both`; rank 1 also has `one`. Status 124: it took more than 20
/// seconds.
Outcome two_ranks(const Words& command, const Words& both, const Words& one) {
  const Words program = Words{LOCKSTEP_PROGRAM} + command;
  Words line = words("timeout -k 5 20 {} --oversubscribe --bind-to none -np 1", LOCKSTEP_MPIEXEC) + program +
               words(": -np 1");
  for (const std::string& entry : one) line.insert(line.end(), {"-x", entry});
  return run(line + program, both);
}

/// Words of `training`, without the options that `settings` set by the environment.
Words without(const Settings& settings) {
  Words arguments = training;
  for (const auto& [option, value] : settings) {
    const auto place = std::ranges::find(arguments, "--" + option);
    if (place != arguments.end()) arguments.erase(place, place + 2);
    if (option == "dataset") {  // options of the synthetic data set have no effect on others
      for (const char* single : {"--synthetic-shape", "--samples"}) {
        const auto other = std::ranges::find(arguments, single);
        if (other != arguments.end() && value != "synthetic") arguments.erase(other, other + 2);
      }
    }
  }
  return arguments;
}

/// Gives `settings` to both ranks, except the last one, which only rank 1 gets.
void expect_same_digest_or_refusal(Settings settings, const TemporaryFolder& folder,
                                   const std::string& digest) {
  for (auto& [option, value] : settings) {
    if (option == "run-dir") value = (folder / ("run-" + settings.back().first)).string();
    if (option == "save-model") value = (folder / "model.safetensors").string();
  }
  Words both;
  for (std::size_t i = 0; i + 1 < settings.size(); ++i) {
    both.push_back(variable(settings[i].first, settings[i].second));
  }
  const auto& [option, value] = settings.back();
  const Outcome outcome = two_ranks(without(settings), both, {variable(option, value)});
  SCOPED_TRACE(option + "\n" + outcome.err);
  if (outcome.status == 0) {
    EXPECT_EQ(digest_of(outcome.out), digest);
    return;
  }
  EXPECT_EQ(outcome.status, 2);
  const std::size_t error = outcome.err.find("lockstep: error: rank ");
  ASSERT_NE(error, std::string::npos);
  EXPECT_EQ(error, outcome.err.rfind("lockstep: error: "));
  EXPECT_TRUE(holds(outcome.err, " has " + option + " = ") ||
              holds(outcome.err, ": is given on rank 1, but not given on rank 0"));
}

TEST(OneRankOnly, EveryOptionHasNoEffectOrIsRefused) {
  const TemporaryFolder folder;
  const Outcome outcome = two_ranks(training, {}, {});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const std::string digest = digest_of(outcome.out);
  for (const auto& [option, settings] : other_values<TrainOptions>()) {
    expect_same_digest_or_refusal(settings, folder, digest);
  }
}

}  // namespace
}  // namespace lockstep::test
