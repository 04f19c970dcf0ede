#include "processes/program_output.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/files/file.h"
#include "core/process/signals.h"
#include "processes/descendants.h"

namespace lockstep::launcher {
namespace {

using std::chrono::seconds;

TEST(ProgramOutput, IsReadToItsEndWithoutAShell) {
  const ProgramOutput output = read_program({"/bin/echo", "it's $HOME", "; a"}, {.limit = seconds(60)});
  EXPECT_EQ(output.answer, Answer::complete);
  EXPECT_EQ(output.text, "it's $HOME ; a\n");
  EXPECT_EQ(read_program({"/no/such"}, {.limit = seconds(60)}).answer, Answer::none);
  EXPECT_EQ(read_program({"/bin/sh", "-c", "echo warning >&2"}, {.limit = seconds(60)}).text, "");
}

TEST(ProgramOutput, IsNotWaitedForForEver) {
  const ProgramOutput output = read_program({"/bin/sleep", "1000"}, {.limit = std::chrono::milliseconds(20)});
  EXPECT_EQ(output.answer, Answer::late);
}

TEST(ProgramOutput, WaitsNoLongerWhereSomethingElseHasArrived) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const FileDescriptor signal(ends[0]), sender(ends[1]);
  ASSERT_EQ(write(sender.get(), "x", 1), 1);
  EXPECT_EQ(read_program({"/bin/sleep", "1000"}, {.limit = seconds(600), .interrupt = signal.get()}).answer,
            Answer::interrupted);
}

TEST(ProgramOutput, ProgramsStartWithoutBlockedSignals) {
  const sigset_t interrupt = make_signal_set({SIGINT});
  sigset_t before;
  pthread_sigmask(SIG_BLOCK, &interrupt, &before);
  const ProgramOutput output =
      read_program({"/bin/grep", "SigBlk", "/proc/self/status"}, {.limit = seconds(60)});
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  EXPECT_EQ(output.text, "SigBlk:\t0000000000000000\n");
}

/// Otherwise the ssh of a killed lockstep-run would wait for its host forever.
TEST(ProgramOutput, AProgramEndsWithTheProcessThatReadsIt) {
  while (waitpid(-1, nullptr, 0) > 0) {
  }  // collects killed programs of other tests
  adopt_descendants();
  const pid_t reader = fork();
  if (reader == 0) {
    read_program({"/bin/sh", "-c", "kill -9 $PPID; exec sleep 30"}, {.limit = seconds(60)});
    _exit(1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(reader, &status, 0), reader);
  EXPECT_EQ(status, SIGKILL);
  ASSERT_GT(waitpid(-1, &status, 0), 0) << "its program is now this process's child";
  EXPECT_EQ(status, SIGKILL);
}

}  // namespace
}  // namespace lockstep::launcher
