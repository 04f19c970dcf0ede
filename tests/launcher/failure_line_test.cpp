#include "run/failure_line.h"

#include <gtest/gtest.h>

namespace lockstep::launcher {
namespace {

TEST(FailureLine, NamesTheRankThatFailed) {
  struct Row {
    const char* line;
    int rank;
    const char* host;
    const char* cause;
  };
  for (const Row& row : std::vector<Row>{
           {"lockstep: error: rank 1 on node-3.cluster: not enough memory", 1, "node-3.cluster",
            "rank 1 on node-3.cluster: not enough memory"},
           {"lockstep: error: rank 2 on host b stopped before all_gather 1841 (step 920, backward)", 2, "b",
            "rank 2 on host b stopped before all_gather 1841 (step 920, backward)"},
           {"lockstep: error: rank 0 on a: rank 3 (process 4711) has ended", 3, "a",
            "rank 0 on a: rank 3 (process 4711) has ended"},
           {"lockstep: error: rank 0 on a: rank 3 on host b has ended", 3, "b",
            "rank 0 on a: rank 3 on host b has ended"},
           {"lockstep: error: rank 2 on host b was killed by signal 9 (Killed) (step 9, load); resume with: "
            "lockstep train --resume a",
            2, "b", "rank 2 on host b was killed by signal 9 (Killed) (step 9, load)"},
           {"lockstep: error: nothing was heard of host b (ranks 2, 3) for 12 s: its link is down, or it has "
            "stopped; rank 0 waits in sum 3 for 12 s; resume with: lockstep train --resume a",
            -1, "b",
            "nothing was heard of host b (ranks 2, 3) for 12 s: its link is down, or it has stopped; rank 0 "
            "waits in sum 3 for 12 s"},
           {"  Remote daemon: [[13552,0],1] on node host-1", -1, "host-1", "host host-1 does not answer"},
           {"ssh: connect to host b.cluster port 22: No route to host", -1, "b.cluster",
            "host b.cluster does not answer"},
           {"ssh: Could not resolve hostname b: Temporary failure in name resolution", -1, "b",
            "host b does not answer"},
           {"mpirun noticed that process rank 1 with PID 0 on node vm exited on signal 9 (Killed).", 1, "vm",
            "rank 1 on host vm was killed by signal 9 (Killed)"}}) {
    const auto found = read_failure_line(row.line);
    ASSERT_TRUE(found) << row.line;
    EXPECT_EQ(found->place, (Place{row.rank, row.host})) << row.line;
    EXPECT_EQ(found->cause, row.cause);
  }
}

TEST(FailureLine, OtherLinesTellNothing) {
  for (const char* line :
       {"", "lockstep: warning: rank 1 on a: slow", "rank 1 on a: not an error of lockstep",
        "lockstep: error: --lr: 'x' is no number", "lockstep-run: error: rank 1"}) {
    EXPECT_FALSE(read_failure_line(line)) << line;
  }
}

TEST(FailureLine, MpirunTellsWhyARankEnded) {
  const FailureLine ended{{1, "a"},
                          "rank 1 on host a (process 7) has ended without telling why (step 9, reduce)"};
  const FailureLine killed{{1, "a"}, "rank 1 on host a was killed by signal 9 (Killed)"};
  EXPECT_TRUE(explains(killed, ended));
  EXPECT_FALSE(explains({{2, "a"}, "rank 2 on host a was killed by signal 9 (Killed)"}, ended));
  EXPECT_FALSE(
      explains(killed, {{1, "a"}, "rank 1 on host a stopped before gather 3 (step 2)"}));  // by the watchdog
}

TEST(FailureLine, KindsOfFailures) {
  for (const auto& [cause, kind] : std::vector<std::pair<const char*, const char*>>{
           {"rank 1 on host a was killed by signal 9 (Killed)", "rank 1 on host a was killed by signal 9"},
           {"rank 1 on host a (process 8628) has ended without telling why (step 277, reduce)",
            "rank 1 on host a has ended without telling why"},
           {"rank 2 on host b stopped before gather 2903 (step 700; process 8 sleeps); ranks 0, 1 wait in it "
            "for 10 s",
            "rank 2 on host b stopped before gather"},
           {"nothing was heard of host b (ranks 2, 3) for 12 s: its link is down, or it has stopped; rank 0 "
            "waits in sum 3 for 12 s",
            "nothing was heard of host b: its link is down, or it has stopped"},
           {"rank 1 on a: not enough memory", "rank 1 on a: not enough memory"},
           {"status 4", "status 4"}}) {
    EXPECT_EQ(kind_of(cause), kind) << cause;
  }
}

TEST(FailureLine, LongMessagesAreCut) {
  const auto found = read_failure_line("lockstep: error: rank 1 on a: " + std::string(4000, 'x'));
  ASSERT_TRUE(found);
  EXPECT_LE(found->cause.size(), 300U);
}

}  // namespace
}  // namespace lockstep::launcher
