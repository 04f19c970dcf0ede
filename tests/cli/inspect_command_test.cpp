// lockstep inspect CHECKPOINT | RUN_DIR, with and without --verify.
#include <gtest/gtest.h>

#include "cli/commands.h"
#include "cli/model/find_checkpoints.h"
#include "cli/run_command.h"
#include "run/checkpoint/checkpoint_store.h"
#include "run/checkpoint/small_checkpoint.h"
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

  /// Output of the command, followed by its error message.
  static std::string inspect(const test::Words& arguments) {
    const test::CommandOutcome outcome = test::attempt_command(inspect_command, arguments);
    EXPECT_EQ(outcome.status, outcome.error ? -1 : 0);
    if (!outcome.error) return outcome.out;
    EXPECT_EQ(outcome.error->category(), Category::data);
    return outcome.out + "error: " + outcome.error->what() + "\n";
  }
  void damage(const std::string& file) const { std::ofstream(checkpoints_ / file, std::ios::app) << "x"; }

  const TemporaryFolder folder_;
  const std::filesystem::path checkpoints_ = folder_ / "checkpoints";
  const std::string first_ = (checkpoints_ / "step-00000001").string();
  const std::string second_ = (checkpoints_ / "step-00000002").string();
};

TEST_F(InspectCheckpoints, ShowsStateAndTensors) {
  const std::string text = inspect({second_});
  test::expect_holds(text, "checkpoint " + second_ + "\n");
  for (const char* part :
       {"step 2, epoch 2\n", "  correct = 17\n", "  lr = 0.2\n", "  simd = avx512\n",
        "choices of cuDNN: 11 bytes", "digest in the file's order xxh3:", "momentum.conv1.weight  F32 "}) {
    test::expect_holds(text, part);
  }
}

TEST_F(InspectCheckpoints, ARunMeansItsNewestGoodCheckpoint) {
  EXPECT_EQ(inspect({folder_.string()}), inspect({second_}));
  EXPECT_EQ(inspect({checkpoints_.string()}), inspect({second_}));
  damage("step-00000002/state.json");
  testing::internal::CaptureStderr();
  EXPECT_EQ(inspect({folder_.string()}), inspect({first_}));
  test::expect_holds(testing::internal::GetCapturedStderr(), "state.json: is damaged");
}

TEST_F(InspectCheckpoints, VerifySaysWhatIsGood) {
  EXPECT_EQ(inspect({"--verify", second_}), second_ + ": good, step 2, 2 + 2 tensors\n");
  EXPECT_EQ(inspect({"--verify", folder_.string()}),
            second_ + ": good, step 2, 2 + 2 tensors\n" + first_ + ": good, step 1, 2 + 2 tensors\n");
  const std::string file = second_ + "/model.safetensors";
  EXPECT_EQ(inspect({"--verify", file}), file + ": readable, but it has no digest, 2 tensors\n");
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
  expect_error(Category::usage, {"name a model file, a checkpoint"},
               [] { test::run_command(inspect_command, {"--verify"}); });
}

}  // namespace
}  // namespace lockstep
