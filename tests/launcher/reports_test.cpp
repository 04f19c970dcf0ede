#include "supervisor/reports.h"

#include <gtest/gtest.h>

namespace lockstep::launcher {
namespace {

class ReportsTest : public testing::Test {
 protected:
  double now_ = 0;
  Reports reports_{Attempt{.run_directory = "/before", .from_step = 80, .last_step = 80, .checkpoint = 80},
                   [this] { return now_; }};
};

TEST_F(ReportsTest, AnAttemptThatNeverStartedKeepsWhatIsKnown) {
  const Attempt attempt = reports_.attempt();
  EXPECT_EQ(attempt.run_directory, "/before");
  EXPECT_EQ(attempt.from_step, 80U);
  EXPECT_EQ(attempt.checkpoint, 80U);
  EXPECT_FALSE(attempt.first_step);
}

TEST_F(ReportsTest, ProgressIsThatOfTheLastReport) {
  reports_.take_report(R"({"run_directory":"/run","step":40,"checkpoint":40})");
  now_ = 5;
  reports_.take_report(R"({"step":41})");
  now_ = 6;
  reports_.take_report(R"({"step":60})");
  reports_.take_report(R"({"checkpoint":50})");
  reports_.take_report("damaged");
  Attempt attempt = reports_.attempt();
  EXPECT_EQ(attempt.run_directory, "/run");
  EXPECT_EQ(attempt.from_step, 40U) << "an older checkpoint than the launcher knew";
  EXPECT_EQ(attempt.first_step, 5.0);
  EXPECT_EQ(attempt.last_step, 60U);
  EXPECT_EQ(attempt.checkpoint, 50U);
  reports_.take_report(R"({"step":40,"checkpoint":40})");  // --on-nan rollback
  attempt = reports_.attempt();
  EXPECT_EQ(attempt.from_step, 40U);
  EXPECT_EQ(attempt.last_step, 40U);
  EXPECT_EQ(attempt.checkpoint, 40U);
}

TEST_F(ReportsTest, TheFirstFailureCountsUnlessALaterOneExplainsIt) {
  reports_.take_report(R"({"step":99,"failure":{"rank":1,"host":"a","cause":"unknown","known":false}})");
  reports_.take_report(R"({"step":98,"failure":{"rank":0,"host":"a","cause":"follows"}})");
  EXPECT_EQ(reports_.attempt().failure->cause, "unknown");
  EXPECT_EQ(reports_.attempt().last_step, 99U);
  reports_.take_line("mpirun noticed that process rank 1 with PID 0 on node a exited on signal 9 (Killed).");
  reports_.take_line("mpirun noticed that process rank 1 with PID 0 on node a exited on signal 15.");
  EXPECT_EQ(reports_.attempt().failure->cause, "rank 1 on host a was killed by signal 9 (Killed)");
}

}  // namespace
}  // namespace lockstep::launcher
