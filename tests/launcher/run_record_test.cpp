#include "run/run_record.h"

#include <gtest/gtest.h>

#include "support/temporary_folder.h"

namespace lockstep::launcher {
namespace {

TEST(RunRecord, NewestCheckpointByName) {
  const TemporaryFolder run;
  EXPECT_EQ(newest_checkpoint(run / "none"), 0U);
  EXPECT_EQ(newest_checkpoint(run.path()), 0U);
  const auto add = [&](const std::string& name) {
    std::filesystem::create_directories(run / "checkpoints" / name);
    run.write("checkpoints/" + name + "/MANIFEST", "");
  };
  for (const char* name : {"step-00000500", "step-00001000", "step-100000000", ".step-200000000.a1b2c3d4.tmp",
                           "step-200000000.a1b2c3d4.tmp", "step-", "step-x", "other-300000000"}) {
    add(name);
  }
  std::filesystem::create_directories(run / "checkpoints/step-400000000");  // is being removed
  EXPECT_EQ(newest_checkpoint(run.path()), 100000000U);
  add("step-100000001.a1b2c3d4.old");
  EXPECT_EQ(newest_checkpoint(run.path()), 100000001U);
}

TEST(RunRecord, StepsThatAreRecorded) {
  const TemporaryFolder run;
  EXPECT_EQ(recorded_steps(run.path(), 0).last, 0U);
  run.write("metrics.jsonl", "");
  EXPECT_EQ(recorded_steps(run.path(), 0).last, 0U);
  std::string lines;
  for (int step = 1; step <= 2000; ++step) {
    lines += R"({"event":"step","epoch":1,"step":)" + std::to_string(step) +
             R"(,"samples":256,"loss":2.3,"seconds":0.5})" + "\n";
  }
  lines += R"({"event":"epoch","epoch":1,"train_loss":2.3,"seconds":1000})"
           "\n";
  run.write("metrics.jsonl", lines);
  const RecordedSteps steps = recorded_steps(run.path(), 1990);
  EXPECT_EQ(steps.last, 2000U);
  EXPECT_DOUBLE_EQ(steps.seconds, 5.0);
  EXPECT_DOUBLE_EQ(recorded_steps(run.path(), 2000).seconds, 0.0);
}

}  // namespace
}  // namespace lockstep::launcher
