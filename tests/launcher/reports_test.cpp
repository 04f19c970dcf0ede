#include "supervisor/reports.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <string>
#include <vector>

#include "core/process/launcher_report.h"

namespace lockstep::launcher {
namespace {

using Failure = LauncherReport::Failure;

class ReportsTest : public testing::Test {
 protected:
  double now_ = 0;
  Reports reports_{Attempt{.run_directory = "/before", .from_step = 80, .last_step = 80, .checkpoint = 80},
                   [this] { return now_; }};
};

TEST_F(ReportsTest, ProgressIsThatOfTheLastReport) {
  reports_.take_report("damaged");
  EXPECT_FALSE(reports_.attempt().heard);
  reports_.take_report("{}");
  EXPECT_TRUE(reports_.attempt().heard);
  EXPECT_FALSE(reports_.attempt().started);
  EXPECT_EQ(reports_.attempt().run_directory, "/before");
  EXPECT_EQ(reports_.attempt().from_step, 80U);
  EXPECT_EQ(reports_.attempt().checkpoint, 80U);
  EXPECT_FALSE(reports_.attempt().first_step);
  reports_.take_report(R"({"run_directory":"/run","step":40,"checkpoint":40})");
  EXPECT_TRUE(reports_.attempt().started);
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
  reports_.take_report(R"({"step":40,"checkpoint":40})");  // as after --on-nan rollback
  attempt = reports_.attempt();
  EXPECT_EQ(attempt.from_step, 40U);
  EXPECT_EQ(attempt.last_step, 40U);
  EXPECT_EQ(attempt.checkpoint, 40U);
}

/// The relay thread reads the ranks' output on a stack whose size is the limit (ulimit -s).
TEST_F(ReportsTest, LongLinesNeedNoLargeStack) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, 256 * 1024), 0);
  const auto take = [](void* reports) -> void* {
    static_cast<Reports*>(reports)->take_line(std::string(4096, 'x'));
    return nullptr;
  };
  pthread_t thread{};
  ASSERT_EQ(pthread_create(&thread, &attributes, take, &reports_), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
  EXPECT_FALSE(reports_.attempt().failure);
}

TEST_F(ReportsTest, TheFirstFailureCountsUnlessALaterOneExplainsIt) {
  reports_.take_report(report_text({.failure = Failure{1, "a", "unknown", "", false}, .step = 99}));
  reports_.take_report(report_text({.failure = Failure{0, "a", "follows"}, .step = 98}));
  EXPECT_EQ(reports_.attempt().failure->cause, "unknown");
  EXPECT_EQ(reports_.attempt().last_step, 99U);
  reports_.take_line("mpirun noticed that process rank 1 with PID 0 on node a exited on signal 9 (Killed).");
  reports_.take_line("mpirun noticed that process rank 1 with PID 0 on node a exited on signal 15.");
  EXPECT_EQ(reports_.attempt().failure->cause, "rank 1 on host a was killed by signal 9 (Killed)");
}

/// Failure of an attempt that printed this line to stderr.
std::optional<Failure> failure_in(const char* line) {
  Reports reports({}, [] { return 0.0; });
  reports.take_line(line);
  return reports.attempt().failure;
}

TEST(Reports, NamesTheRankOrHostThatMpirunOrSshNames) {
  struct Row {
    const char* line;
    int rank;
    const char* host;
    const char* cause;
    const char* kind = "";
  };
  for (const Row& row : std::vector<Row>{
           {"  Remote daemon: [[13552,0],1] on node host-1", -1, "host-1", "host host-1 does not answer"},
           {"ssh: connect to host b.cluster port 22: No route to host", -1, "b.cluster",
            "host b.cluster does not answer"},
           {"ssh: Could not resolve hostname b: Temporary failure in name resolution", -1, "b",
            "host b does not answer"},
           {"mpirun noticed that process rank 1 with PID 0 on node vm exited on signal 9 (Killed).", 1, "vm",
            "rank 1 on host vm was killed by signal 9 (Killed)",
            "rank 1 on host vm was killed by signal 9"}}) {
    const auto found = failure_in(row.line);
    ASSERT_TRUE(found) << row.line;
    EXPECT_EQ(*found, (Failure{row.rank, row.host, row.cause, row.kind})) << row.line;
  }
}

TEST(Reports, MessagesOfRanksAreNotRead) {
  for (const char* line :
       {"", "lockstep: error: rank 1 on a: broken", "lockstep-run: error: rank 1",
        "lockstep: warning: process rank 1 with PID 0 on node vm exited on signal 9 (Killed).",
        "lockstep: warning: ssh: connect to host b port 22: No route to host"}) {
    EXPECT_FALSE(failure_in(line)) << line;
  }
}

TEST(LauncherReport, IsReadAsItWasWritten) {
  const LauncherReport full{.failure = Failure{1, "a", "cause\n\"\xff", "kind", false},
                            .stop = LauncherReport::Stop{"SIGUSR1", "at step 7; resume with: \xe9"},
                            .run_directory = "/runs/caf\xe9/with\ttab and lockstep: run directory",
                            .step = 7,
                            .checkpoint = 0,
                            .status = 75};
  const std::string text = report_text(full);
  EXPECT_EQ(text.find_first_of("\n\t"), std::string::npos) << text;
  EXPECT_EQ(parse_report(text), full) << text;
  EXPECT_EQ(stop_line(*full.stop), "lockstep: stopped by SIGUSR1 at step 7; resume with: \xe9");
  EXPECT_EQ(parse_report(report_text({})), LauncherReport{});
  EXPECT_EQ(parse_report(R"({"later":1})"), LauncherReport{});
  for (const char* damaged :
       {"", "{", "[]", R"({"failure":{}})", R"({"run_directory":1})", R"({"step":"1"})"}) {
    EXPECT_FALSE(parse_report(damaged)) << damaged;
  }
}

}  // namespace
}  // namespace lockstep::launcher
