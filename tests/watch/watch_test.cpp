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
  const Watch watch(ranks);
  if (write(ready, "", 1) != 1) _exit(1);
  for (;;) pause();
}

/// The ranks of this host wait for those of another one, as MPI does; first there is a warning.
TEST(WatchTest, ARankThatIsKilledInTheStartOfSeveralHostsIsNamed) {
  const TemporaryFolder temporary;  // receives the report
  setenv("TMPDIR", temporary.path().c_str(), 1);
  setenv("LOCKSTEP_JOB", ("test-watch-" + std::to_string(getpid())).c_str(), 1);
  std::array<int, 2> output{}, ready{};
  ASSERT_EQ(pipe(output.data()), 0);
  ASSERT_EQ(pipe(ready.data()), 0);
  const auto start = [&](int local_rank) {
    const StartedRanks ranks{
        .host = "b", .count = 4, .rank = 2 + local_rank, .local_rank = local_rank, .local_count = 2};
    return start_rank(ranks, output[1], ready[1]);
  };
  const pid_t survivor = start(0), victim = start(1);
  close(output[1]);
  for (int i = 0; i < 2; ++i) {
    char byte = 0;
    ASSERT_EQ(read(ready[0], &byte, 1), 1);
  }
  const auto output_text = [&] {
    std::string text(1000, '\0');
    text.resize(static_cast<std::size_t>(read(output[0], text.data(), text.size())));
    return text;
  };
  EXPECT_EQ(output_text(),
            "lockstep: warning: host b has waited 10 s for 2 ranks of other hosts to start; the run ends if "
            "this takes "
            "300 s: see whether the hosts answer, and whether a firewall blocks TCP between them\n");
  kill(victim, SIGKILL);
  int status = 0;
  waitpid(survivor, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 5);
  const std::string text = output_text();
  test::expect_holds(text, "rank 3 on host b (process " + std::to_string(victim) +
                               ") was killed by signal 9 (Killed) (start-up)");
  waitpid(victim, nullptr, 0);
  unsetenv("LOCKSTEP_JOB");
  unsetenv("TMPDIR");
}

}  // namespace
}  // namespace lockstep
