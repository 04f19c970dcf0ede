#include "supervisor/summary.h"

#include <gtest/gtest.h>

#include <array>

namespace lockstep::launcher {
namespace {

TEST(Summary, OfARunWithoutFailure) {
  const std::array attempts = {Attempt{.began = 10, .ended = 110, .first_step = 12}};
  const Summary summary = summarise(attempts);
  EXPECT_EQ(summary.lost_steps, 0U);
  EXPECT_DOUBLE_EQ(summary.useful_seconds, summary.seconds);
}

/// The first attempt needs 2 s to start, then makes 100 steps in 50 s, with a checkpoint at step 80. The
/// second one starts 1 s later, makes its first step after 3 s and finishes the run.
TEST(Summary, LostStepsAndTheWayBackAreNotUseful) {
  const std::array attempts = {
      Attempt{.began = 0, .ended = 52, .first_step = 2, .last_step = 100, .checkpoint = 80, .status = 137},
      Attempt{.began = 53, .ended = 100, .first_step = 56, .from_step = 80, .last_step = 180, .status = 0}};
  const Summary summary = summarise(attempts);
  EXPECT_EQ(summary.lost_steps, 20U);
  EXPECT_DOUBLE_EQ(summary.seconds, 100);
  EXPECT_DOUBLE_EQ(summary.useful_seconds, 2 + 40 + 44);
}

TEST(Summary, NothingOfAnAttemptWithoutCheckpointIsUseful) {
  const std::array attempts = {
      Attempt{.began = 0, .ended = 50, .first_step = 1, .last_step = 10, .status = 4},
      Attempt{.began = 50, .ended = 60, .status = 4}};
  EXPECT_DOUBLE_EQ(summarise(attempts).useful_seconds, 1);
  EXPECT_EQ(summarise(attempts).lost_steps, 10U);
}

/// A run that resumed from another run's checkpoint of step 100 and has written none itself.
TEST(Summary, StepsOfAnotherRunAreNotLost) {
  const std::array attempts = {Attempt{.ended = 9, .from_step = 100, .last_step = 131, .status = 5}};
  EXPECT_EQ(summarise(attempts).lost_steps, 31U);
}

TEST(Summary, CausesAreCounted) {
  const auto hung = [](const char* cause) {
    return Attempt{.ended = 10,
                   .status = 5,
                   .failure = LauncherReport::Failure{
                       .rank = 2, .host = "b", .cause = cause, .kind = "rank 2 on host b hangs"}};
  };
  const Attempt killed{.ended = 20, .status = 137}, unknown{.ended = 20, .status = 4};
  const Attempt reported{
      .ended = 30, .status = 4, .failure = LauncherReport::Failure{1, "a", "rank 1 on a: no memory"}};
  EXPECT_EQ(cause_of(killed), "signal 9");
  EXPECT_EQ(cause_of(Attempt{.status = 137, .mpirun_failure = "mpirun was killed by SIGKILL"}),
            "mpirun was killed by SIGKILL");
  EXPECT_EQ(cause_of(unknown), "status 4");
  EXPECT_EQ(cause_of(reported), "rank 1 on a: no memory");
  const std::array attempts = {hung("for 10 s"), unknown, hung("for 11 s"), reported, Attempt{.ended = 40}};
  EXPECT_EQ(summary_line(attempts),
            "4 restarts (rank 2 on host b hangs, 2 times; status 4; rank 1 on a: no memory); lost steps: at "
            "least 0; useful time 100.0 % of 40 s");
}

}  // namespace
}  // namespace lockstep::launcher
