#include "cli/train/stop_line.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

TEST(ResumeAdvice, CanBePasted) {
  EXPECT_EQ(resume_advice("lockstep-run -np 4", "runs/lenet-1"),
            "resume with: lockstep-run -np 4 train --resume runs/lenet-1");
  EXPECT_EQ(resume_advice("lockstep", "my runs/it's"),
            "resume with: lockstep train --resume 'my runs/it'\\''s'");
}

TEST(StopLine, NamesReasonAndResumeCommand) {
  EXPECT_EQ(stop_line(stop_report("lockstep", "SIGTERM", 1234, "runs/lenet-1")),
            "lockstep: stopped by SIGTERM at step 1234; resume with: lockstep train --resume runs/lenet-1");
  EXPECT_EQ(stop_line(stop_report("lockstep", "SIGINT", 7, "")),
            "lockstep: stopped by SIGINT at step 7; nothing was saved: without a run directory, a run has to "
            "start again");
}

}  // namespace
}  // namespace lockstep
