#include "watch/watch.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>

#include "support/temporary_folder.h"
#include "support/text.h"

namespace lockstep {
namespace {

/// A process that starts as a rank and then waits, as in MPI_Init. Its stderr is `output`.
pid_t start_rank(const StartedRanks& ranks, int output, int ready) {
  const pid_t process = fork();
  if (process != 0) return process;
  dup2(output, STDERR_FILENO);
  Watch watch(ranks);
  watch.set_time_to_start(1.0);
  if (write(ready, "", 1) != 1) _exit(1);
  for (;;) pause();
}

/// Starts the last two of `ranks` ranks on this host: one at once, the other after the warning `of_own_rank`.
/// Kills the latter after the warning `of_other_hosts`. An empty warning is not waited for.
void expect_warnings_and_end(int ranks, const std::string& of_own_rank, const std::string& of_other_hosts) {
  const TemporaryFolder temporary;  // receives the report
  setenv("TMPDIR", temporary.path().c_str(), 1);
  setenv("LOCKSTEP_JOB", ("test-watch-" + std::to_string(getpid())).c_str(), 1);
  std::array<int, 2> output{}, ready{};
  ASSERT_EQ(pipe(output.data()), 0);
  ASSERT_EQ(pipe(ready.data()), 0);
  const auto start = [&](int local_rank) {
    const pid_t process = start_rank({.host = "b",
                                      .count = ranks,
                                      .rank = ranks - 2 + local_rank,
                                      .local_rank = local_rank,
                                      .local_count = 2},
                                     output[1], ready[1]);
    char byte = 0;
    EXPECT_EQ(read(ready[0], &byte, 1), 1);
    return process;
  };
  const auto output_text = [&] {
    std::string text(1000, '\0');
    text.resize(static_cast<std::size_t>(read(output[0], text.data(), text.size())));
    return text;
  };
  const auto expect_warning = [&](const std::string& warning) {
    if (warning.empty()) return;
    EXPECT_EQ(output_text(), "lockstep: warning: " + warning + "\n");
  };
  const pid_t survivor = start(0);
  expect_warning(of_own_rank);
  const pid_t victim = start(1);
  expect_warning(of_other_hosts);
  kill(victim, SIGKILL);
  int status = 0;
  waitpid(survivor, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 5);
  const std::string text = output_text();
  test::expect_holds(text, "rank " + std::to_string(ranks - 1) + " on host b (process " +
                               std::to_string(victim) + ") was killed by signal 9 (Killed) (start-up)");
  waitpid(victim, nullptr, 0);
  for (const int end : {output[0], output[1], ready[0], ready[1]}) close(end);
  unsetenv("LOCKSTEP_JOB");
  unsetenv("TMPDIR");
}

constexpr const char* other_hosts =
    "host b has waited 1 s for 2 ranks of other hosts to start; the run ends if this takes 300 s: see "
    "whether the hosts answer, and whether a firewall blocks TCP between them";

std::string own_rank(int rank) {
  return "host b has waited 1 s for its rank " + std::to_string(rank) +
         " to start; the run ends if this takes 300 s: see whether it is busy, and what delays the program "
         "there (a wrapper, a slow file system)";
}

TEST(WatchTest, ARankOfTheSameHostThatDoesNotStartIsNamed) { expect_warnings_and_end(2, own_rank(1), ""); }

/// Once all ranks of this host have started, they wait for the ranks of other hosts.
TEST(WatchTest, OtherHostsAreNamedAfterAnOwnRankThatWasLate) {
  expect_warnings_and_end(4, own_rank(3), other_hosts);
}

TEST(WatchTest, OwnWorkWithinACollectiveIsNotWaiting) {
  Watch watch;
  const InCollective in(watch, Collective::device, Group::alone);
  EXPECT_TRUE(watch.activity().waits);
  {
    const OwnWork reading(watch);
    EXPECT_FALSE(watch.activity().waits);
  }
  EXPECT_TRUE(watch.activity().waits);
  EXPECT_EQ(watch.activity().call.kind, Collective::device);
}

}  // namespace
}  // namespace lockstep
