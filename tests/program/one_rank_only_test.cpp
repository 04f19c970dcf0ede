// Passes each option of `lockstep train` to one rank only. The run ends with the digest of a run without the
// option, or with status 2 and a line that names it, and never hangs.
#include <gtest/gtest.h>

#include <map>

#include "cli/other_value.h"
#include "cli/train/train_options.h"
#include "support/run.h"

namespace lockstep::test {
namespace {

using Values = std::map<std::string, std::string>;

/// Options of a short training.
const Values training{
    {"dataset", "synthetic"}, {"synthetic-shape", "1x28x28"}, {"samples", "96"}, {"epochs", "1"},
    {"batch-size", "32"},     {"micro-batches", "4"},         {"device", "cpu"}, {"model", "mlp:8"}};

/// Trains on two ranks with the options `both`; rank 1 also has the variables `one`. Status 124: the run took
/// more than 20 seconds.
Outcome two_ranks(const Values& both, const Words& one) {
  Words environment;
  for (const auto& [option, value] : both) environment.push_back(variable_of(option) + "=" + value);
  Words command = words("timeout -k 5 20 {} --oversubscribe --bind-to none -np 1 {} train : -np 1",
                        LOCKSTEP_MPIEXEC, LOCKSTEP_PROGRAM);
  for (const std::string& variable : one) command.insert(command.end(), {"-x", variable});
  return run(command + Words{LOCKSTEP_PROGRAM, "train"}, environment);
}

/// Passes `settings` to both ranks, except the last setting, which only rank 1 gets.
void expect_same_digest_or_refusal(const Settings& settings, const TemporaryFolder& folder,
                                   const std::string& digest) {
  const std::string option = settings.back().first;
  Values both = training;
  for (const auto& [name, value] : settings) both[name] = value;
  if (both.contains("run-dir")) both["run-dir"] = (folder / ("run-" + option)).string();
  if (both.contains("save-model")) both["save-model"] = (folder / "model.safetensors").string();
  if (both["dataset"] != "synthetic") {  // options of synthetic data have no effect on other data sets
    both.erase("synthetic-shape");
    both.erase("samples");
  }
  const std::string of_one = variable_of(option) + "=" + both[option];
  both.erase(option);
  const Outcome outcome = two_ranks(both, {of_one});
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
              holds(outcome.err, ": is given on rank 1, but not given on rank 0") ||
              holds(outcome.err, variable_of(option) + ": has no effect"));
}

TEST(OneRankOnly, EveryOptionHasNoEffectOrIsRefused) {
  if (!LOCKSTEP_OPEN_MPI_4)
    GTEST_SKIP() << "the mpirun of Open MPI 5.0.7 crashes when it starts two programs";
  const TemporaryFolder folder;
  const Outcome outcome = two_ranks(training, {});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const std::string digest = digest_of(outcome.out);
  for (const auto& [option, settings] : other_values<TrainOptions>()) {
    if (is_in_this_build(option)) expect_same_digest_or_refusal(settings, folder, digest);
  }
}

}  // namespace
}  // namespace lockstep::test
