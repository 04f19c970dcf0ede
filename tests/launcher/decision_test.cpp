#include "supervisor/decision.h"

#include <gtest/gtest.h>

namespace lockstep::launcher {
namespace {

using Action = Decision::Action;
using Words = std::vector<std::string>;

/// An attempt that a signal ended, with its newest checkpoint and the failed rank and host; rank -1: unknown.
Attempt failed(std::uint64_t checkpoint, int rank = -1, const std::string& host = "a", int ranks = 4) {
  Attempt attempt{.ranks = ranks, .checkpoint = checkpoint, .status = 137};
  if (rank >= 0) attempt.failure = LauncherReport::Failure{.rank = rank, .host = host, .cause = "broken"};
  return attempt;
}

Attempt ended(int status) { return {.ranks = 4, .checkpoint = 100, .status = status}; }

struct Row {
  const char* name;
  std::vector<Attempt> attempts;
  Action action;
  bool several_hosts = false;
  int fewer_ranks = 3;
  RestartOptions options = {.maximum = 10, .min_ranks = 2};
};

TEST(Decision, TableOfFacts) {
  const auto stopped_by_user = [] {
    Attempt attempt = failed(100);
    attempt.stop_requested = true;
    return attempt;
  };
  const std::vector<Row> table = {
      {"done", {ended(0)}, Action::finish},
      {"stopped on request", {ended(75)}, Action::finish},
      {"asked to stop, and ended otherwise", {stopped_by_user()}, Action::finish},
      {"restarts are not wanted", {failed(100)}, Action::finish, false, 3, {}},
      {"wrong usage", {ended(2)}, Action::give_up},
      {"bad data", {ended(3)}, Action::give_up},
      {"a missing device", {ended(4)}, Action::restart},
      {"a peer", {ended(5)}, Action::restart},
      {"a defect", {ended(70)}, Action::restart},
      {"mpirun itself", {ended(1)}, Action::restart},
      {"the first failure, without a checkpoint", {failed(0)}, Action::restart},
      {"progress", {failed(100), failed(200)}, Action::restart},
      {"no progress", {failed(100), failed(100)}, Action::give_up},
      {"no checkpoint twice", {failed(0), failed(0)}, Action::give_up},
      {"an older checkpoint than before, after a rollback", {failed(200), failed(100)}, Action::restart},
      {"twice the older checkpoint", {failed(200), failed(100), failed(100)}, Action::give_up},
      {"the only checkpoint is lost", {failed(200), failed(0)}, Action::give_up},
      {"no progress, another place", {failed(100, 1), failed(100, 2)}, Action::give_up},
      {"no progress, the same place", {failed(100, 1), failed(100, 1)}, Action::restart_with_fewer_ranks},
      {"progress, the same place twice", {failed(100, 1), failed(200, 1)}, Action::restart},
      {"progress, the same place three times",
       {failed(100, 1), failed(200, 1), failed(300, 1)},
       Action::restart_with_fewer_ranks},
      {"not in a row", {failed(100, 1), failed(200, 2), failed(300, 1)}, Action::restart},
      {"ranks were left out in between",
       {failed(100, 1), failed(200, 1), failed(300, 1, "a", 3)},
       Action::restart},
      {"other ranks of one host, of several",
       {failed(100, 1, "b"), failed(200, 2, "b.cluster"), failed(300, 3, "B")},
       Action::restart_with_fewer_ranks,
       true},
      {"hosts that are named by addresses",
       {failed(100, 1, "10.0.0.1"), failed(200, 1, "10.0.0.2"), failed(300, 1, "10.0.0.3")},
       Action::restart,
       true},
      {"the same rank on other hosts",
       {failed(100, 1, "a"), failed(200, 1, "b"), failed(300, 1, "a")},
       Action::restart,
       true},
      {"the minimum of ranks", {failed(100, 1, "a", 2), failed(100, 1, "a", 2)}, Action::give_up, false, 1},
      {"ranks unknown", {failed(100, 1), failed(200, 1), failed(300, 1)}, Action::restart, false, 0},
      {"the maximum of restarts",
       {failed(1), failed(2), failed(3)},
       Action::give_up,
       false,
       3,
       {.maximum = 2}},
  };
  for (const Row& row : table) {
    const Decision decision = decide(row.attempts, row.options, row.several_hosts, row.fewer_ranks);
    EXPECT_EQ(decision.action, row.action) << row.name << ": " << decision.reason;
    const bool explains = row.action == Action::give_up || row.action == Action::restart_with_fewer_ranks;
    EXPECT_EQ(decision.reason.empty(), !explains) << row.name;
  }
}

TEST(Decision, ReasonsNameWhatIsWrong) {
  const RestartOptions options{.maximum = 10};
  const auto reason = [&](const std::vector<Attempt>& attempts, bool several_hosts = false) {
    return decide(attempts, options, several_hosts, 3).reason;
  };
  EXPECT_EQ(reason({failed(50), failed(50)}),
            "two attempts failed without writing a checkpoint after step 50");
  EXPECT_EQ(reason({failed(50, 2, "b"), failed(50, 2, "b")}), "rank 2 on b failed 2 times in a row");
  EXPECT_EQ(reason({failed(50, 2, "b"), failed(50, 3, "b")}, true), "host b failed 2 times in a row");
}

std::string text(const FewerRanks& fewer) {
  std::string result = std::to_string(fewer.ranks);
  for (const MpirunOptions::Host& host : fewer.hosts)
    result += " " + host.name + ":" + std::to_string(host.slots);
  return result;
}

TEST(FewerRanks, LeaveOutAHostOrARank) {
  const auto without_place = [](const Words& words, const std::string& host) {
    return text(without({.rank = 1, .host = host, .cause = "broken"}, MpirunOptions(words)));
  };
  EXPECT_EQ(without_place({"-np", "4"}, "a"), "3");
  EXPECT_EQ(without_place({}, "a"), "0");
  EXPECT_EQ(without_place({"-np", "1"}, "a"), "0");
  EXPECT_EQ(without_place({"-np", "4", "-H", "a:4"}, "a"), "3");                    // the only host
  EXPECT_EQ(without_place({"-np", "4", "-H", "10.0.0.1:2,10.0.0.2:2"}, "a"), "3");  // host is not in the list
  EXPECT_EQ(without_place({"-np", "4", "-H", "10.0.0.1:2,10.0.0.2:2"}, "10.0.0.2"), "2 10.0.0.1:2");
  EXPECT_EQ(without_place({"--hosts", "a:2,b:2"}, "b"), "2 a:2");  // probed, but did not answer
  EXPECT_EQ(without_place({"--hosts", "a:2,b:2", "-N", "1"}, "b"), "0");
  EXPECT_EQ(without_place({"-np", "6", "-H", "a:2,b:2,c:2"}, "b.cluster"), "4 a:2 c:2");
  EXPECT_EQ(without_place({"-np", "3", "-H", "a:2,b:8"}, "a"), "3 b:8");
  EXPECT_EQ(without_place({"-np", "6", "-H", "a:x,b:x,c:x"}, "b"), "4 a:0 c:0");  // equal shares
}

}  // namespace
}  // namespace lockstep::launcher
