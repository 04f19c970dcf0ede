// lockstep inspect CHECKPOINT | RUN_DIR, with and without --verify.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdio>

#include "checkpoint/checkpoint_store.h"
#include "checkpoint/small_checkpoint.h"
#include "cli/commands.h"
#include "cli/find_checkpoints.h"
#include "support/expect_error.h"
#include "support/temporary_folder.h"

namespace lockstep {
namespace {

/// A run directory with checkpoints of steps 1 and 2.
class InspectCheckpoints : public testing::Test {
 protected:
  InspectCheckpoints() {
    const CheckpointStore store(checkpoints_, 2);
    for (const std::uint64_t step : {1, 2}) store.write(SmallCheckpoint(step).contents(), 0);
  }

  static std::string inspect(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "inspect");
    std::vector<char*> pointers;
    for (std::string& argument : arguments) pointers.push_back(argument.data());
    testing::internal::CaptureStdout();
    std::string problem;
    try {
      EXPECT_EQ(run_inspect(static_cast<int>(pointers.size()), pointers.data()), 0);
    } catch (const Error& error) {
      EXPECT_EQ(error.category(), Category::data);
      problem = fmt::format("error: {}\n", error.what());
    }
    std::fflush(stdout);
    return testing::internal::GetCapturedStdout() + problem;
  }
  void damage(const std::string& file) const { std::ofstream(checkpoints_ / file, std::ios::app) << "x"; }

  const TemporaryFolder folder_;
  const std::filesystem::path checkpoints_ = folder_ / "checkpoints";
  const std::string first_ = (checkpoints_ / "step-00000001").string();
  const std::string second_ = (checkpoints_ / "step-00000002").string();
};

TEST_F(InspectCheckpoints, ShowsStateAndTensors) {
  const std::string text = inspect({second_});
  for (const std::string& part : std::initializer_list<std::string>{
           "checkpoint " + second_ + "\n", std::string("step 2, epoch 2\n"), std::string("  correct = 17\n"),
           std::string("  lr = 0.2\n"), std::string("  simd = avx512\n"),
           std::string("choices of cuDNN: 11 bytes"), std::string("digest in the file's order xxh3:"),
           std::string("momentum.conv1.weight  F32 ")}) {
    EXPECT_NE(text.find(part), std::string::npos) << text << "lacks " << part;
  }
}

TEST_F(InspectCheckpoints, ARunMeansItsNewestGoodCheckpoint) {
  EXPECT_EQ(inspect({folder_.string()}), inspect({second_}));
  EXPECT_EQ(inspect({checkpoints_.string()}), inspect({second_}));
  damage("step-00000002/state.json");
  testing::internal::CaptureStderr();
  EXPECT_EQ(inspect({folder_.string()}), inspect({first_}));
  const std::string warning = testing::internal::GetCapturedStderr();
  EXPECT_NE(warning.find("state.json: is damaged"), std::string::npos) << warning;
}

TEST_F(InspectCheckpoints, VerifySaysWhatIsGood) {
  EXPECT_EQ(inspect({"--verify", second_}), second_ + ": good, step 2, 2 + 2 tensors\n");
  EXPECT_EQ(inspect({"--verify", folder_.string()}),
            second_ + ": good, step 2, 2 + 2 tensors\n" + first_ + ": good, step 1, 2 + 2 tensors\n");
  const std::string file = second_ + "/model.safetensors";
  EXPECT_EQ(inspect({"--verify", file}), file + ": readable, 2 tensors; a model file holds no hash\n");
}

TEST_F(InspectCheckpoints, VerifyNamesWhatIsBad) {
  damage("step-00000002/optimizer.safetensors");
  const std::string reason = second_ + "/optimizer.safetensors: is damaged: has ";
  EXPECT_TRUE(inspect({"--verify", second_}).starts_with("error: " + reason));
  const std::string text = inspect({"--verify", folder_.string()});
  EXPECT_TRUE(text.starts_with(second_ + ": BAD: " + reason)) << text;
  EXPECT_TRUE(text.ends_with(first_ + ": good, step 1, 2 + 2 tensors\nerror: " + folder_.string() +
                             ": 1 of 2 checkpoints cannot be used\n"))
      << text;
}

TEST_F(InspectCheckpoints, NoCheckpoint) {
  const TemporaryFolder empty;
  expect_error(Category::data, {empty.string(), "no checkpoint here"},
               [&] { find_checkpoints(empty.path()); });
  expect_error(Category::data, {"nowhere: no such folder"}, [&] { find_checkpoints(empty / "nowhere"); });
  expect_error(Category::usage, {"name a model file, a checkpoint"}, [] {
    char name[] = "inspect", verify[] = "--verify";
    char* arguments[] = {name, verify};
    run_inspect(2, arguments);
  });
}

}  // namespace
}  // namespace lockstep
