#include "cli/model/find_checkpoints.h"

#include <gtest/gtest.h>

#include "support/temporary_folder.h"

namespace lockstep {
namespace {

using Path = std::filesystem::path;

TEST(FindCheckpoints, ARunIsFoundFromEachWayToNameItsCheckpoint) {
  EXPECT_EQ(run_of("runs/x/checkpoints/step-00000001"), "runs/x");
  EXPECT_EQ(run_of("./runs//x/checkpoints/step-00000001/"), "runs/x");
  EXPECT_EQ(run_of("/checkpoints/step-00000001"), "/");
  const Path here = std::filesystem::current_path();
  EXPECT_EQ(run_of("checkpoints/step-00000001"), here);
  EXPECT_EQ(run_of("../checkpoints/step-00000001"), here.parent_path());
}

TEST(FindCheckpoints, ARunIsFoundFromWithinIt) {
  const TemporaryFolder folder;
  const Path checkpoint = folder / "run/checkpoints/step-00000001", before = std::filesystem::current_path();
  std::filesystem::create_directories(checkpoint);
  std::filesystem::current_path(checkpoint);
  const Path from_checkpoint = run_of(".");
  std::filesystem::current_path("..");
  const Path from_checkpoints = run_of("step-00000001/");
  std::filesystem::current_path(before);
  EXPECT_EQ(from_checkpoint, folder / "run");
  EXPECT_EQ(from_checkpoints, folder / "run");
}

TEST(FindCheckpoints, ACheckpointElsewhereBelongsToNoRun) {
  EXPECT_EQ(run_of("/step-00000001"), "");
  EXPECT_EQ(run_of("/backup/step-00000001"), "");
  EXPECT_EQ(run_of("backup/of/step-00000001"), "");
}

}  // namespace
}  // namespace lockstep
