#include "processes/stop_request.h"

#include <gtest/gtest.h>

#include <csignal>
#include <vector>

namespace lockstep::launcher {
namespace {

using namespace std::chrono_literals;
using Signals = std::vector<int>;

/// A stop request with a clock that the test sets.
struct Request {
  explicit Request(bool can_save = true)
      : stop(
            {.can_save = can_save, .grace = 5s}, [this](int signal) { sent.push_back(signal); },
            [this](const std::string& line) {
              EXPECT_FALSE(sent.empty()) << "nobody may read: " << line;
              said += line + "\n";
            }) {}
  void signal(int number, std::chrono::milliseconds when) { stop.on_signal(number, start + when); }
  void run_until(std::chrono::milliseconds end) {
    while (stop.next() && *stop.next() <= start + end) stop.on_time(*stop.next());
  }

  const StopRequest::Time start = {};
  Signals sent;
  std::string said;
  StopRequest stop;
};

TEST(StopRequest, EachSignalAsksTheRanksAndRepeatsIt) {
  for (const int signal : {SIGTERM, SIGINT, SIGUSR1, SIGHUP}) {
    Request request;
    request.signal(signal, 0ms);
    request.run_until(2500ms);
    EXPECT_EQ(request.sent, (Signals{SIGUSR1, SIGUSR1, SIGUSR1}));
    EXPECT_EQ(request.stop.signal(), signal);
    EXPECT_FALSE(request.stop.killed());
  }
}

TEST(StopRequest, ARequestForACheckpointIsPassedOn) {
  Request request;
  request.signal(SIGUSR2, 0ms);
  request.signal(SIGUSR2, 1s);
  request.run_until(1h);
  EXPECT_EQ(request.sent, (Signals{SIGUSR2, SIGUSR2}));
  EXPECT_FALSE(request.stop.requested());
}

TEST(StopRequest, AfterTheGraceTimeTheRanksAreKilled) {
  Request request;
  request.signal(SIGTERM, 0ms);
  request.run_until(1h);
  EXPECT_EQ(request.sent, (Signals{SIGUSR1, SIGUSR1, SIGUSR1, SIGUSR1, SIGUSR1, SIGKILL}));
  EXPECT_TRUE(request.stop.killed());
  EXPECT_NE(request.said.find("did not stop within 5 s"), std::string::npos) << request.said;
}

TEST(StopRequest, TheSecondInterruptKills) {
  Request request;
  request.signal(SIGINT, 0ms);
  EXPECT_EQ(request.sent, (Signals{SIGUSR1})) << "at once";
  request.signal(SIGINT, 20ms);  // `timeout` sends SIGINT twice
  request.run_until(500ms);
  EXPECT_EQ(request.sent, (Signals{SIGUSR1}));
  request.signal(SIGINT, 600ms);
  request.run_until(1h);
  EXPECT_EQ(request.sent, (Signals{SIGUSR1, SIGKILL}));
  EXPECT_TRUE(request.stop.killed());
}

TEST(StopRequest, ASecondSignalToTerminateDoesNotKill) {
  Request request;
  request.signal(SIGTERM, 0ms);
  request.signal(SIGTERM, 500ms);
  request.signal(SIGINT, 600ms);
  request.run_until(700ms);
  EXPECT_EQ(request.sent, (Signals{SIGUSR1}));
  request.signal(SIGINT, 1100ms);
  EXPECT_EQ(request.sent, (Signals{SIGUSR1, SIGKILL}));
}

TEST(StopRequest, CommandsWithoutCheckpointsAreKilled) {
  for (const int signal : {SIGINT, SIGUSR2}) {
    Request request(false);
    request.signal(signal, 0ms);
    EXPECT_EQ(request.sent, (Signals{SIGKILL}));
    EXPECT_EQ(request.stop.signal(), signal);
    EXPECT_EQ(request.said.find("SIGUSR2: ending the ranks") != std::string::npos, signal == SIGUSR2);
  }
}

}  // namespace
}  // namespace lockstep::launcher
