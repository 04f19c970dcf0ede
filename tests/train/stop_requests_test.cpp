#include "lockstep/stop_requests.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <initializer_list>
#include <thread>

#include "train/small_run.h"
#include "watch/watch.h"

// The thread sanitizer delays signal handlers and drops them if the process ends first.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define LOCKSTEP_SIGNALS_ARE_DELAYED
#endif
#endif

namespace lockstep::test {
namespace {

#ifndef LOCKSTEP_SIGNALS_ARE_DELAYED
/// Runs `body` and exits with status 0 in a child process. Returns its wait status.
template <class Body>
int status_of_child(const Body& body) {
  const pid_t child = fork();
  if (child == 0) {
    body();
    _exit(0);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return status;
}

TEST(StopRequests, SignalsThatStopEndAtOnceBeforeTheRun) {
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGXCPU, SIGUSR1}) {
    const int status = status_of_child([&] {
      const StopRequests requests;
      raise(number);
    });
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 75) << number;
  }
  EXPECT_EQ(status_of_child([] {
              const StopRequests requests;
              raise(SIGUSR2);
            }),
            0);
}

/// mpirun sends SIGTERM to ranks that print their own error.
TEST(StopRequests, SignalsDoNotEndAProcessThatIsEnding) {
  EXPECT_EQ(status_of_child([] {
              const StopRequests requests;
              announce_common_end();
              raise(SIGTERM);
            }),
            0);
}

/// The thread that gets the signal blocks until its message is read. Meanwhile, other threads must not begin
/// the run.
TEST(StopRequests, NoRunBeginsOnceASignalHasEndedIt) {
  const int status = status_of_child([] {
    StopRequests requests;
    std::thread([] { raise(SIGUSR1); }).detach();
    usleep(100'000);
    requests.wait_for_boundaries();
  });
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 75);
}
#endif

TEST(StopRequests, SignalsWaitForABoundaryOfTheRun) {
  for (const auto& [number, name] :
       {std::pair(SIGTERM, "SIGTERM"), std::pair(SIGINT, "SIGINT"), std::pair(SIGHUP, "SIGHUP"),
        std::pair(SIGXCPU, "SIGXCPU"), std::pair(SIGUSR1, "SIGUSR1")}) {
    StopRequests requests;
    requests.wait_for_boundaries();
    EXPECT_EQ(requests.ask(), Request::none);
    raise(number);
    raise(number);  // a second SIGINT within half a second counts as an echo of the first
    EXPECT_EQ(requests.ask(), Request::stop);
    EXPECT_FALSE(requests.stopped());
    requests.carried_out(Request::stop);
    EXPECT_TRUE(requests.stopped());
    EXPECT_EQ(requests.reason(world()), name);
  }
}

TEST(StopRequests, CheckpointsAreAskedForUntilMade) {
  StopRequests requests;
  requests.wait_for_boundaries();
  raise(SIGUSR2);
  EXPECT_EQ(requests.ask(), Request::checkpoint);
  EXPECT_EQ(requests.ask(), Request::checkpoint);
  requests.carried_out(Request::checkpoint);
  EXPECT_EQ(requests.ask(), Request::none);
  EXPECT_FALSE(requests.stopped());
  raise(SIGUSR2);
  raise(SIGTERM);
  EXPECT_EQ(requests.ask(), Request::stop);
}

#ifndef LOCKSTEP_SIGNALS_ARE_DELAYED
/// Signal that kills a process that gets `signals` during its run, 600 ms apart; 0: none does. The
/// half-second limit for echoes is part of the contract.
int end_by(std::initializer_list<int> signals) {
  const int status = status_of_child([&] {
    StopRequests requests;
    requests.wait_for_boundaries();
    for (const int number : signals) {
      if (requests.ask() != Request::none) std::this_thread::sleep_for(std::chrono::milliseconds(600));
      raise(number);
    }
  });
  return WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
}

TEST(StopRequests, ASecondInterruptEndsAtOnce) {
  EXPECT_EQ(end_by({SIGINT, SIGINT}), SIGINT);
  EXPECT_EQ(end_by({SIGUSR1, SIGINT}), 0);  // the first request was not a SIGINT
  EXPECT_EQ(end_by({SIGTERM, SIGINT, SIGINT}), SIGINT);
}
#endif

TEST(StopRequests, EarlierHandlingIsRestoredAndIgnoredSignalsStayIgnored) {
  const auto handler_of = [](int number) {
    struct sigaction action {};
    sigaction(number, nullptr, &action);
    return action.sa_handler;
  };
  std::signal(SIGINT, SIG_IGN);
  {
    StopRequests requests;
    requests.wait_for_boundaries();
    EXPECT_EQ(handler_of(SIGINT), SIG_IGN);
    EXPECT_NE(handler_of(SIGTERM), SIG_DFL);
    raise(SIGINT);
    EXPECT_EQ(requests.ask(), Request::none);
  }
  std::signal(SIGINT, SIG_DFL);
  EXPECT_EQ(handler_of(SIGTERM), SIG_DFL);
}

TEST(StopRequests, TimeLimitLeavesTimeForTheEndAndCountsEarlierProcesses) {
  StopRequests requests;
  requests.wait_for_boundaries();
  requests.set_limit({.seconds = 3600.0}, 1800.0);
  EXPECT_FALSE(requests.is_over_before_start());
  EXPECT_EQ(requests.ask(), Request::none);
  requests.expect_end(1000.0);
  requests.expect_end(1.0);  // the longest estimate counts
  EXPECT_EQ(requests.ask(), Request::none);
  requests.expect_end(1800.0);
  EXPECT_EQ(requests.ask(), Request::stop);
  EXPECT_EQ(requests.reason(world()), "the time limit of 1h");
  requests.set_limit({.seconds = 3600.0}, 3575.0);  // 30 s are reserved for the end
  EXPECT_TRUE(requests.is_over_before_start());
  requests.set_limit({}, 1e9);
  EXPECT_FALSE(requests.is_over_before_start());
}

TEST(StopRequests, OtherRequestsHaveNoCauseHere) {
  StopRequests requests;
  requests.carried_out(Request::stop);
  EXPECT_EQ(requests.reason(world()), "request");
}

}  // namespace
}  // namespace lockstep::test
