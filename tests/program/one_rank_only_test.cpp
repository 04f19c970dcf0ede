// Gives each option of `lockstep train` to one rank only. The run ends with the digest of a run without it,
// or with status 2 and a line that names the option. It never hangs.
#include <gtest/gtest.h>

#include <cctype>

#include "cli/other_value.h"
#include "cli/train/train_options.h"
#include "support/run.h"

namespace lockstep::test {
namespace {

using Arguments = std::vector<std::string>;

const Arguments training = {
    "train", "--dataset", "synthetic", "--synthetic-shape", "1x28x28", "--samples",
    "96",    "--epochs",  "1",         "--batch-size",      "32",      "--micro-batches",
    "4",     "--device",  "cpu",       "--model",           "mlp:8"};

std::string variable(const std::string& option, const std::string& value) {
  std::string name = "LOCKSTEP_";
  for (const char c : option) {
    name += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return name + "=" + value;
}

/// Runs two ranks with the environment `both`; rank 1 also has `one`. Status 124: it took more than 20
/// seconds.
Outcome two_ranks(const Arguments& command, const Arguments& both, const Arguments& one) {
  Arguments line = {"timeout",
                    "-k",
                    "5",
                    "20",
                    LOCKSTEP_MPIEXEC,
                    "--oversubscribe",
                    "--bind-to",
                    "none",
                    "--mca",
                    "odls_base_sigkill_timeout",
                    "0"};
  for (const bool other : {false, true}) {
    line.insert(line.end(), {other ? ":" : "-np", other ? "-np" : "1"});
    if (other) line.emplace_back("1");
    for (const std::string& entry : other ? one : Arguments()) line.insert(line.end(), {"-x", entry});
    line.emplace_back(LOCKSTEP_PROGRAM);
    line.insert(line.end(), command.begin(), command.end());
  }
  Arguments environment = both;
  environment.insert(environment.end(), {"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"});
  return run(line, environment);
}

/// Arguments of `training`, without the options that `settings` set by the environment.
Arguments without(const Settings& settings) {
  Arguments arguments = training;
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
  Arguments both;
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
  EXPECT_NE(outcome.err.find(" has " + option + " = ", error), std::string::npos);
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

/// Values that once led to another digest, a crash or a hang.
TEST(OneRankOnly, ExecutionThatDecidesCollectivesIsRefused) {
  const TemporaryFolder folder;
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"rank-weights", "1,3"}, {"rank-weights", "1,7"}, {"transport", "messages"}, {"device", "cuda"}};
  for (const auto& single : cases) expect_same_digest_or_refusal({single}, folder, "");
}

TEST(OneRankOnly, OptionsOfOtherCommandsAreComparedToo) {
  const Arguments synthetic = {"--dataset", "synthetic", "--model", "mlp:8"};
  const std::vector<std::pair<Arguments, Arguments>> cases = {
      {{"eval", "none.safetensors"}, {"LOCKSTEP_MEAN=0.5"}},
      {{"bench", "step", "--steps", "2"}, {"LOCKSTEP_BATCH_SIZE=64"}},
      {{"doctor"}, {"LOCKSTEP_TRANSPORT=messages"}}};
  for (const auto& [command, environment] : cases) {
    Arguments arguments = command;
    if (command.front() != "doctor") arguments.insert(arguments.end(), synthetic.begin(), synthetic.end());
    const Outcome outcome = two_ranks(arguments, {}, environment);
    EXPECT_EQ(outcome.status, 2) << command.front() << "\n" << outcome.err;
    EXPECT_NE(outcome.err.find("; give all ranks the same"), std::string::npos) << outcome.err;
  }
}

}  // namespace
}  // namespace lockstep::test
