// The commands for GPUs in README, docs and recipes, on the emulated program with several GPUs.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "support/run.h"

namespace lockstep::test {
namespace {

/// Commands for GPUs in a file of Markdown or a recipe, without what follows "..." or "#".
std::vector<std::string> gpu_commands_of(const std::filesystem::path& file) {
  std::string text = contents(file);
  text = std::regex_replace(text, std::regex(R"(\\\n\s*(# *)?)"), "");  // lines that go on
  std::vector<std::string> commands;
  const std::regex start(R"((launcher/lockstep-run|lockstep|mpirun) [^`\n#|]*)");
  for (auto found = std::sregex_iterator(text.begin(), text.end(), start); found != std::sregex_iterator();
       ++found) {
    std::string command = found->str();
    command = command.substr(0, command.find("..."));
    const auto at = static_cast<std::size_t>(found->position());
    const bool is_command = at == 0 || text[at - 1] == '\n' || text[at - 1] == '`' || text[at - 1] == ' ';
    if (is_command && command.find("--device cuda") != std::string::npos) commands.push_back(command);
  }
  return commands;
}

std::vector<std::string> gpu_commands() {
  std::vector<std::string> commands = gpu_commands_of(LOCKSTEP_SOURCE "/README.md");
  for (const char* folder : {"/docs", "/recipes"}) {
    for (const auto& entry : std::filesystem::directory_iterator(std::string(LOCKSTEP_SOURCE) + folder)) {
      if (!entry.is_regular_file()) continue;
      const auto more = gpu_commands_of(entry.path());
      commands.insert(commands.end(), more.begin(), more.end());
    }
  }
  commands.emplace_back("launcher/lockstep-run train ");  // the defaults find the GPUs
  std::ranges::sort(commands);
  return commands;
}

/// A machine with GPUs: lockstep-run, with the emulated program beside it.
class GpuCommands : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    std::filesystem::copy(LOCKSTEP_RUN, folder_.string());
    std::filesystem::create_symlink(LOCKSTEP_EMULATED, folder_ / "lockstep");
  }
  /// The command for this machine: "-np 8" becomes the number of GPUs, but ranks that share a GPU stay.
  std::string adapted(std::string command) const {
    const std::string ranks = std::to_string(GetParam());
    if (command.find("--transport") == std::string::npos) {
      command = std::regex_replace(command, std::regex("-np [2-9]"), "-np " + ranks);
    }
    const std::string folder = folder_.string() + "/";
    command = std::regex_replace(command, std::regex("launcher/lockstep-run"), folder + "lockstep-run");
    command = std::regex_replace(command, std::regex("(^| )lockstep "), "$1" + folder + "lockstep ");
    return std::regex_replace(command, std::regex("mpirun "),
                              std::string(LOCKSTEP_MPIEXEC) + " --oversubscribe --bind-to none ");
  }
  /// Runs a command on few and small samples.
  Outcome start(const std::string& command) const {
    std::string gpus = "0";
    for (int i = 1; i < GetParam(); ++i) gpus += "," + std::to_string(i);
    std::istringstream stream("timeout -k 5 120 " + command);
    std::vector<std::string> words{std::istream_iterator<std::string>(stream), {}};
    std::vector<std::string> environment = {"CUDA_VISIBLE_DEVICES=" + gpus, "LOCKSTEP_DATASET=synthetic",
                                            "LOCKSTEP_THREADS=1"};
    const auto add = [&](const char* option) { environment.emplace_back(option); };
    if (command.find("allreduce") == std::string::npos && command.find("doctor") == std::string::npos) {
      const bool large = command.find("resnet") != std::string::npos;
      add("LOCKSTEP_SYNTHETIC_SHAPE=1x14x14");
      add(large ? "LOCKSTEP_SAMPLES=16" : "LOCKSTEP_SAMPLES=128");
      add(large ? "LOCKSTEP_BATCH_SIZE=16" : "LOCKSTEP_BATCH_SIZE=128");
      if (large) environment.push_back("LOCKSTEP_MICRO_BATCHES=" + std::to_string(GetParam()));
    }
    if (command.find(" train ") != std::string::npos) {
      add("LOCKSTEP_MAX_STEPS=1");
      add("LOCKSTEP_RUN_DIR=none");
    }
    if (command.find("bench step") != std::string::npos) add("LOCKSTEP_STEPS=1");
    if (command.find("bench step") == std::string::npos && command.find("bench") != std::string::npos) {
      add("LOCKSTEP_ROUNDS=1");
    }
    return run(words, environment);
  }

  const TemporaryFolder folder_;
};

TEST_P(GpuCommands, Start) {
  int started = 0;
  for (const std::string& written : gpu_commands()) {
    const bool one_rank = written.starts_with("lockstep ") || written.starts_with("mpirun ");
    const bool sharing = written.find("--transport") != std::string::npos;
    if ((one_rank || sharing) && GetParam() != 1) continue;
    const std::string command = adapted(written);
    if (GetParam() > 2 && command.find("allreduce") != std::string::npos) continue;  // 64 MB a rank
    const Outcome outcome = start(command);
    EXPECT_EQ(outcome.status, 0) << command << "\n" << outcome.err;
    ++started;
    if (command.find(" train ") == std::string::npos || one_rank || sharing) continue;
    EXPECT_NE(outcome.err.find(": " + std::to_string(GetParam()) + " rank"), std::string::npos)
        << command << "\n"
        << outcome.err;
    EXPECT_NE(outcome.out.find(", canonical)\n"), std::string::npos) << outcome.out;
  }
  EXPECT_GE(started, GetParam() == 1 ? 8 : 3);
}

INSTANTIATE_TEST_SUITE_P(On, GpuCommands, testing::Values(1, 2, 8, 16),
                         [](const auto& instance) { return std::to_string(instance.param) + "Gpus"; });

/// The default number of micro-batches does not depend on the number of GPUs.
TEST(GpuDefaults, HaveOneDigest) {
  std::string expected;
  for (const char* gpus : {"0", "0,1,2", "0,1,2,3,4,5,6,7"}) {
    const int ranks = 1 + count(gpus, ",");
    const Outcome outcome =
        mpirun(LOCKSTEP_EMULATED, ranks,
               {"train", "--dataset", "synthetic", "--synthetic-shape", "1x8x8", "--samples", "600",
                "--model", "mlp:8", "--epochs", "1", "--run-dir", "none", "--threads", "1"},
               {std::string("CUDA_VISIBLE_DEVICES=") + gpus});
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_NE(outcome.out.find(" (emulated, fp32, 16 micro-batches, canonical)\n"), std::string::npos)
        << outcome.out;
    if (expected.empty()) expected = digest_of(outcome.out);
    EXPECT_EQ(digest_of(outcome.out), expected) << ranks << " GPUs";
  }
}

TEST(GpuDefaults, RefuseMoreRanksThanMicroBatchesAndNameNumbersThatWork) {
  const Outcome outcome = mpirun(
      LOCKSTEP_EMULATED, 3,
      {"train", "--dataset", "synthetic", "--model", "mlp:8", "--micro-batches", "2", "--device", "cuda"},
      {"CUDA_VISIBLE_DEVICES=0,1,2"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_NE(outcome.err.find("--micro-batches: 3 ranks are more than 2 micro-batches: start at most 2 ranks, "
                             "or use 4, 8, 16, 32 micro-batches"),
            std::string::npos)
      << outcome.err;
}

}  // namespace
}  // namespace lockstep::test
