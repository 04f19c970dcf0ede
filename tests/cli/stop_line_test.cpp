#include "cli/train/stop_line.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

TEST(StopLine, NamesReasonAndResumeCommand) {
  EXPECT_EQ(
      begin_again_advice("runs/lenet-1"),
      "resume with: lockstep train --resume auto --run-dir runs/lenet-1 and the options of its first start");
  EXPECT_EQ(stop_line("SIGTERM", 1234, "runs/lenet-1"),
            "lockstep: stopped by SIGTERM at step 1234; resume with: lockstep train --resume runs/lenet-1");
  EXPECT_EQ(stop_line("the time limit of 5m", 3, "my runs/it's"),
            "lockstep: stopped by the time limit of 5m at step 3; resume with: lockstep train --resume "
            "'my runs/it'\\''s'");
  EXPECT_EQ(stop_line("SIGINT", 7, ""),
            "lockstep: stopped by SIGINT at step 7; nothing was saved: without a run directory, a run has to "
            "start again");
}

}  // namespace
}  // namespace lockstep
