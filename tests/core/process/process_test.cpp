#include "core/process/process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace lockstep {
namespace {

/// A child that waits for signals.
class Child {
 public:
  Child() : number_(fork()) {
    if (number_ != 0) return;
    for (;;) pause();
  }
  ~Child() {
    kill(number_, SIGKILL);
    waitpid(number_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  ProcessId id() const { return {number_, status_of(number_)->start, own_process().number_space}; }
  /// Waits for a change of the child's state without reaping it.
  void wait_for(int options) const {
    siginfo_t info{};
    ASSERT_EQ(waitid(P_PID, static_cast<id_t>(number_), &info, options | WNOWAIT), 0);
  }

 private:
  pid_t number_;
};

TEST(Process, ParentStateAndPendingSignals) {
  const Child child;
  const ProcessId id = child.id();
  const auto number = static_cast<pid_t>(id.number);
  EXPECT_EQ(children_of(getpid()), std::vector<pid_t>{number});
  ASSERT_EQ(kill(number, SIGSTOP), 0);
  child.wait_for(WSTOPPED);
  EXPECT_EQ(status_of(id.number)->parent, getpid());
  EXPECT_EQ(status_of(id.number)->state, 'T');
  EXPECT_FALSE(status_of(999999999));
  EXPECT_EQ(pending_signals_of(id.number), 0U);
  ASSERT_EQ(kill(number, SIGTERM), 0);
  EXPECT_EQ(pending_signals_of(id.number), 1U << (SIGTERM - 1));
  EXPECT_GE(processor_time_of(getpid()).used, 0.0);
}

TEST(Process, ClosedStandardStreamsGiveAndTakeNothing) {
  const pid_t child = fork();
  if (child == 0) {
    close(STDIN_FILENO);
    close(STDERR_FILENO);
    open_standard_streams();
    char byte = 0;
    const bool gives_nothing = read(STDIN_FILENO, &byte, 1) == 0;
    const bool takes_nothing = write(STDERR_FILENO, &byte, 1) < 0 && errno == EBADF;
    _exit(gives_nothing && takes_nothing ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(Process, ExitStatusIsThatOfAShell) {
  EXPECT_EQ(exit_status_of(3 << 8), 3);
  EXPECT_EQ(exit_status_of(SIGKILL), 128 + SIGKILL);
}

TEST(Process, AnEndIsSeenWithItsReason) {
  const Child child;
  WatchedProcess watched(child.id());
  EXPECT_FALSE(watched.has_ended());
  watched.kill();
  child.wait_for(WEXITED);
  EXPECT_TRUE(watched.has_ended());
  ASSERT_TRUE(watched.wait_status());
  EXPECT_EQ(describe_end(watched.wait_status()), "was killed by signal 9 (Killed)");
}

TEST(Process, AProcessCanBeKilledLater) {
  const Child child;
  WatchedProcess watched(child.id());
  watched.kill_later(0);
  if (watched.descriptor() < 0) {  // a kernel without pidfd_open, where kill_later does nothing
    EXPECT_FALSE(watched.has_ended());
    watched.kill();
  }
  child.wait_for(WEXITED);
  EXPECT_TRUE(watched.has_ended());
}

TEST(Process, AnotherProcessOfTheSameNumberIsNotTheSame) {
  ProcessId id = own_process();
  ++id.start;
  EXPECT_TRUE(WatchedProcess(id).has_ended());
  id = own_process();
  ++id.number_space;
  WatchedProcess invisible(id);
  EXPECT_FALSE(invisible.has_ended());
  EXPECT_LT(invisible.descriptor(), 0);
}

TEST(Process, TheMostDelayedThreadCounts) {
  const ProcessorTime before{.used = 1.0, .delays = {{1, 5.0}, {2, 1.0}}};
  const ProcessorTime after{.used = 2.0, .delays = {{1, 5.1}, {2, 1.5}, {3, 0.2}}};
  EXPECT_DOUBLE_EQ(delay_between(before, after), 0.5);
}

}  // namespace
}  // namespace lockstep
