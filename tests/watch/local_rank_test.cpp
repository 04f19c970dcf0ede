#include "watch/local_rank.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>

namespace lockstep {
namespace {

/// Memory of a fake rank whose process is `id`.
std::unique_ptr<RankMemory> memory_of(const ProcessId& id) {
  auto memory = std::make_unique<RankMemory>();
  memory->process_start = id.start;
  memory->process_space = id.number_space;
  memory->process = id.number;
  return memory;
}

TEST(LocalRank, NothingIsKnownWithoutItsMemory) {
  LocalRank rank(nullptr);
  RankState state;
  rank.look(state, 1.0, true);
  EXPECT_FALSE(state.known || rank.runs());
  EXPECT_EQ(rank.ending(), RankMemory::Ending::no);
}

TEST(LocalRank, StandsStillUntilItsDeviceIsCalled) {
  const auto memory = memory_of(own_process());
  LocalRank rank(memory.get());
  RankState state;
  for (int i = 0; i < 3; ++i) rank.look(state, 0.5, false);
  EXPECT_EQ(state.still, 1.5);
  EXPECT_TRUE(rank.runs());
  memory->calls = 1;
  rank.look(state, 0.5, false);
  EXPECT_EQ(state.still, 0.0);
}

TEST(LocalRank, IsStoppedWhenItsMonitorNoLongerBeats) {
  const auto memory = memory_of(own_process());
  LocalRank rank(memory.get());
  RankState state;
  for (int i = 0; i < 8; ++i) {
    ++memory->beat;
    rank.look(state, 0.5, true);
  }
  EXPECT_FALSE(state.stopped);
  // Time that the threads spend waiting for a core does not count, so this may take longer on a busy machine.
  for (int i = 0; i < 1000 && rank.is_alive(); ++i) rank.look(state, 0.5, true);
  EXPECT_FALSE(rank.is_alive());
  rank.look(state, 0.5, true);
  EXPECT_TRUE(state.stopped);
  rank.look(state, 0.5, false);
  EXPECT_FALSE(state.stopped) << "not measured";
}

TEST(LocalRank, ItsEndIsSeenWithItsReason) {
  const pid_t child = fork();
  if (child == 0) {
    for (;;) pause();
  }
  const auto memory = memory_of({child, status_of(child)->start, own_process().number_space});
  LocalRank rank(memory.get());
  RankState state;
  rank.look(state, 0.1, false);
  EXPECT_FALSE(state.ended);
  EXPECT_EQ(rank.ending(), RankMemory::Ending::no);
  memory->ending = RankMemory::Ending::failed;
  rank.kill();
  siginfo_t info{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  rank.look(state, 0.1, false);
  EXPECT_TRUE(state.ended && state.ends_by_itself);
  EXPECT_EQ(rank.ending(), RankMemory::Ending::failed);
  EXPECT_FALSE(rank.runs());
  EXPECT_EQ(state.wait_status, SIGKILL);
  waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace lockstep
