#include "supervisor/failure_line.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/launcher_report.h"
#include "processes/marked_lines.h"

namespace lockstep::launcher {
namespace {

TEST(FailureLine, NamesTheRankOrHostThatMpirunOrSshNames) {
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
    const auto found = read_failure_line(row.line);
    ASSERT_TRUE(found) << row.line;
    EXPECT_EQ(*found, (LauncherReport::Failure{row.rank, row.host, row.cause, row.kind})) << row.line;
  }
}

TEST(FailureLine, MessagesOfRanksAreNotRead) {
  for (const char* line :
       {"", "lockstep: error: rank 1 on a: broken", "lockstep-run: error: rank 1",
        "lockstep: warning: process rank 1 with PID 0 on node vm exited on signal 9 (Killed).",
        "lockstep: warning: ssh: connect to host b port 22: No route to host"}) {
    EXPECT_FALSE(read_failure_line(line)) << line;
  }
}

TEST(LauncherReport, IsReadAsItWasWritten) {
  const LauncherReport full{.failure = LauncherReport::Failure{1, "a", "cause\n\"\xff", "kind", false},
                            .stop = LauncherReport::Stop{"SIGUSR1", "at step 7; resume with: x"},
                            .run_directory = "/runs/with\ttab and lockstep: run directory",
                            .step = 7,
                            .status = 75,
                            .checkpoint = 0};
  const std::string text = report_text(full);
  EXPECT_EQ(text.find_first_of("\n\t"), std::string::npos) << text;
  auto read = parse_report(text);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->failure->cause, "cause\n\"\xEF\xBF\xBD") << "what is no UTF-8 is replaced";
  read->failure->cause = full.failure->cause;
  EXPECT_EQ(*read, full);
  EXPECT_EQ(stop_line(*read->stop), "lockstep: stopped by SIGUSR1 at step 7; resume with: x");
  EXPECT_EQ(parse_report(report_text({})), LauncherReport{});
  EXPECT_EQ(parse_report(R"({"later":1})"), LauncherReport{});
  for (const char* damaged :
       {"", "{", "[]", R"({"failure":{}})", R"({"run_directory":1})", R"({"step":"1"})"}) {
    EXPECT_FALSE(parse_report(damaged)) << damaged;
  }
}

TEST(MarkedLines, AreTakenOutHoweverTheStreamIsCut) {
  const std::string stream =
      "progress\rlockstep-1a b c\nlockstep-1b\n[1,0]<stderr>:lockstep-1a d\nend lockst";
  for (std::size_t length = 1; length <= stream.size(); ++length) {
    std::vector<std::string> lines;
    MarkedLines marked("lockstep-1a ", [&](std::string_view line) { lines.emplace_back(line); });
    std::string passed;
    for (std::size_t at = 0; at < stream.size(); at += length)
      passed += marked.pass(stream.substr(at, length));
    passed += marked.rest();
    EXPECT_EQ(lines, (std::vector<std::string>{"b c", "d"}));
    if (length == stream.size()) {  // else mpirun's tag may be passed on before what follows it is known
      EXPECT_EQ(passed, "progress\rlockstep-1b\nend lockst");
    }
    EXPECT_EQ(passed.find("lockstep-1a"), std::string::npos);
  }
  EXPECT_EQ(MarkedLines({}, {}).pass("all"), "all");
}

}  // namespace
}  // namespace lockstep::launcher
