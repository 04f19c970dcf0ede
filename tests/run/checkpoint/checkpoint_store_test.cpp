#include "run/checkpoint/checkpoint_store.h"

#include <gtest/gtest.h>

#include <vector>

#include "run/checkpoint/checkpoint_folder.h"
#include "run/checkpoint/small_checkpoint.h"
#include "support/temporary_folder.h"
#include "support/test_files.h"

namespace lockstep {
namespace {

using Names = std::vector<std::string>;

class Store : public testing::Test {
 protected:
  void write(std::uint64_t step, int keep, std::uint64_t best = 0) const {
    EXPECT_EQ(CheckpointStore(folder_.path(), keep).write(SmallCheckpoint(step).contents(), best), "");
  }
  Names listed() const {
    Names names;
    for (const auto& path : list_checkpoints(folder_.path())) names.push_back(path.filename().string());
    return names;
  }
  /// Creates the folder of a whole checkpoint under another name.
  void put(const std::string& name, std::uint64_t step) const {
    std::filesystem::create_directory(folder_ / name);
    write_checkpoint(folder_ / name, SmallCheckpoint(step).contents());
  }

  const TemporaryFolder folder_;
};

TEST_F(Store, KeepsTheLatestAndTheBest) {
  for (const std::uint64_t step : {1, 2, 3, 4, 5}) write(step, 3);
  EXPECT_EQ(folder_.names(), (Names{"step-00000003", "step-00000004", "step-00000005"}));
  EXPECT_EQ(listed(), (Names{"step-00000005", "step-00000004", "step-00000003"}));
  for (const std::uint64_t step : {6, 7}) write(step, 2, 3);
  EXPECT_EQ(folder_.names(), (Names{"step-00000003", "step-00000006", "step-00000007"}));
  write(8, 2, 7);
  EXPECT_EQ(folder_.names(), (Names{"step-00000007", "step-00000008"}));
}

TEST_F(Store, OrderIsThatOfStepsNotOfNames) {
  write(99999999, 9);
  write(100000000, 9);
  EXPECT_EQ(listed(), (Names{"step-100000000", "step-99999999"}));
}

/// A run continues from an earlier checkpoint.
TEST_F(Store, LaterCheckpointsAreSetAsideAndStayUntilTheRunPassesThem) {
  for (const std::uint64_t step : {10, 20, 30}) write(step, 3);
  const CheckpointStore::SetAside result = CheckpointStore(folder_.path(), 1).set_aside_after(10);
  EXPECT_EQ(result.checkpoints, 2U);
  EXPECT_EQ(result.failure, "");
  EXPECT_EQ(listed(), (Names{"step-00000010"}));
  EXPECT_EQ(CheckpointStore(folder_.path(), 1).set_aside_after(5).checkpoints, 1U);
  EXPECT_TRUE(listed().empty());
  write(9, 1);
  const Names names = folder_.names();
  ASSERT_EQ(names.size(), 4U);
  EXPECT_EQ(names[0], "step-00000009");
  for (const std::size_t i : {1U, 2U, 3U}) {
    EXPECT_TRUE(names[i].starts_with(checkpoint_name(10 * i) + ".") && names[i].ends_with(".aside"));
    EXPECT_EQ(read_checkpoint(folder_ / names[i]).state.step, 10 * i);
  }
  write(20, 2, 10);
  EXPECT_EQ(folder_.names(), (Names{"step-00000009", "step-00000020", names[3]}));
  write(31, 1);
  EXPECT_EQ(folder_.names(), (Names{"step-00000031"}));
}

/// The other process is a run in progress, which removes its older checkpoints.
TEST_F(Store, TheNewestIsChosenAgainIfAnotherProcessRemovesItMeanwhile) {
  write(1, 1);
  put("later", 2);
  TestFiles disk(system_files(), [&](const FileCall& call) {
    if (call.name == "open" && call.path == folder_ / "step-00000001/model.safetensors") {
      std::filesystem::rename(folder_ / "later", folder_ / "step-00000002");
      std::filesystem::remove_all(folder_ / "step-00000001");
    }
    return 0;
  });
  const ScopedFiles scope(disk);
  const auto found = newest_good_checkpoint(
      folder_.path(), [](const auto&, const std::string& reason) { ADD_FAILURE() << reason; });
  ASSERT_TRUE(found);
  EXPECT_EQ(found->state.step, 2U);
}

TEST_F(Store, ReplacesACheckpointOfTheSameStep) {
  write(7, 3);
  SmallCheckpoint other(7);
  other.contents().state.options = {{"epochs", "20"}};
  EXPECT_EQ(CheckpointStore(folder_.path(), 3).write(other.contents(), 0), "");
  EXPECT_EQ(folder_.names(), (Names{"step-00000007"}));
  EXPECT_EQ(read_checkpoint(folder_ / "step-00000007").state, other.contents().state);
}

/// A crash between the two renames leaves the old checkpoint with the name step-N.HEX.old.
TEST_F(Store, KnowsACheckpointWhoseReplacementWasInterrupted) {
  put("step-00000007.0123abcd.old", 7);
  write(6, 3);
  EXPECT_EQ(listed(), (Names{"step-00000007.0123abcd.old", "step-00000006"}));
  EXPECT_EQ(read_checkpoint(folder_ / "step-00000007.0123abcd.old").state.step, 7U);
  write(8, 1);
  EXPECT_EQ(folder_.names(), (Names{"step-00000008"}));
  put("step-00000008.0123abcd.old", 8);
  EXPECT_EQ(listed(), (Names{"step-00000008", "step-00000008.0123abcd.old"}));
  write(9, 2);
  EXPECT_EQ(folder_.names(), (Names{"step-00000008", "step-00000009"}));
}

TEST_F(Store, RemovesWhatKilledWritersLeft) {
  folder_.write(".step-00000003.0123abcd.tmp/model.safetensors", "half");
  put(".step-00000004.0123abcd.tmp", 4);  // killed before the rename
  folder_.write("step-00000001/model.safetensors", "its MANIFEST is removed");
  EXPECT_TRUE(listed().empty());
  write(5, 3);
  EXPECT_EQ(folder_.names(), (Names{"step-00000005"}));
}

TEST_F(Store, LeavesOtherFilesAlone) {
  const Names others = {".step-5.0123abcd.tmp",
                        ".step-00000005.0123ABCD.tmp",
                        ".step-00000005",
                        "best.safetensors",
                        "final.safetensors",
                        "step-00000005.0123abcd.tmp",
                        "step-00000005.copy",
                        "step-0000000x",
                        "step-5",
                        "step-000000005",
                        "step-00000005",
                        ".step-00000005.0123abcd.tmp",
                        "step-00000005.0123abcd.old2",
                        "step-18446744073709551616"};
  for (const std::string& name : others) folder_.write(name, "");
  write(6, 1);
  for (const std::string& name : others) EXPECT_TRUE(std::filesystem::exists(folder_ / name)) << name;
  EXPECT_EQ(listed(), (Names{"step-00000006"}));
}

TEST_F(Store, RemovesSymbolicLinksButNotTheirTargets) {
  const TemporaryFolder other;
  for (const char* name : {"step-00000001", "step-00000002.0123abcd.aside"}) {
    std::filesystem::create_directory(other / name);
    write_checkpoint(other / name, SmallCheckpoint(name[12] - '0').contents());
    std::filesystem::create_directory_symlink(other / name, folder_ / name);
  }
  other.write("damaged/model.safetensors", "");
  std::filesystem::create_directory_symlink(other / "damaged", folder_ / ".step-00000003.0123abcd.tmp");
  std::filesystem::create_directory_symlink(other / "damaged", folder_ / "step-00000004");
  write(5, 1);
  EXPECT_EQ(folder_.names(), (Names{"step-00000005"}));
  for (const char* name : {"step-00000001", "step-00000002.0123abcd.aside"}) {
    EXPECT_NO_THROW(read_checkpoint(other / name)) << name;
  }
  EXPECT_TRUE(std::filesystem::exists(other / "damaged/model.safetensors"));
}

TEST(CheckpointName, RoundTrip) {
  for (const std::uint64_t step : {std::uint64_t{0}, std::uint64_t{1234}, UINT64_MAX}) {
    const auto name = parse_checkpoint_name(checkpoint_name(step));
    ASSERT_TRUE(name);
    EXPECT_EQ(name->step, step);
    EXPECT_EQ(name->kind, CheckpointName::Kind::whole);
  }
  EXPECT_EQ(checkpoint_name(1234), "step-00001234");
}

}  // namespace
}  // namespace lockstep
