#include "comm/watch/process.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "comm/watch/job_memory.h"

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
  /// Waits for a change of its state, without removing it when it has ended.
  void wait_for(int options) const {
    siginfo_t info{};
    ASSERT_EQ(waitid(P_PID, static_cast<id_t>(number_), &info, options | WNOWAIT), 0);
  }

 private:
  pid_t number_;
};

TEST(Process, StatusSaysWhetherItIsStopped) {
  const Child child;
  const ProcessId id = child.id();
  ASSERT_EQ(kill(static_cast<pid_t>(id.number), SIGSTOP), 0);
  child.wait_for(WSTOPPED);
  EXPECT_EQ(status_of(id.number)->state, 'T');
  EXPECT_FALSE(status_of(999999999));
  EXPECT_GE(processor_time_of(getpid()).used, 0.0);
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
  if (watched.descriptor() < 0) GTEST_SKIP() << "the kernel lacks pidfd_open";
  watched.kill_later(0);
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

TEST(JobMemoryTest, RanksOfAJobShareItAndTheLastOneRemovesIt) {
  const std::string job = "test-" + std::to_string(getpid());
  auto first = std::make_unique<JobMemory>(job, "a/b", 2);
  EXPECT_EQ(first->path().filename(), "lockstep-" + job + "-a_b");
  first->rank(1).rank = 7;
  {
    const JobMemory second(job, "a/b", 2);
    EXPECT_EQ(second.rank(1).rank, 7);
    EXPECT_EQ(second.inode(), first->inode());
  }
  EXPECT_TRUE(std::filesystem::exists(first->path()));
  const std::filesystem::path path = first->path();
  first.reset();
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(JobMemoryTest, WhatKilledProcessesLeftIsNotUsed) {
  const std::string job = "test-killed-" + std::to_string(getpid());
  const pid_t child = fork();
  if (child == 0) {
    JobMemory memory(job, "a", 1);
    memory.rank(0).rank = 7;
    raise(SIGKILL);
  }
  waitpid(child, nullptr, 0);
  const JobMemory memory(job, "a", 1);
  EXPECT_EQ(memory.rank(0).rank, 0);
}

TEST(JobMemoryTest, TheNameOfTheJobComesFromTheLauncher) {
  const auto lookup = [](const char* name) -> const char* {
    return std::string(name) == "LOCKSTEP_JOB"     ? "mine"
           : std::string(name) == "PMIX_NAMESPACE" ? "12"
                                                   : nullptr;
  };
  EXPECT_EQ(read_job(lookup), "mine-12");
}

}  // namespace
}  // namespace lockstep
