#include "watch/monitor.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace lockstep {
namespace {

/// After an error on another host, the ranks of the monitor's host exit, whether or not the launcher kills
/// them.
TEST(MonitorTest, AnErrorOnAnotherHostCountsAsOneOfThisHost) {
  HeartbeatAddress address;
  std::unique_ptr<Heartbeat> first = listen_for_hosts(2, address);
  ASSERT_NE(first, nullptr);
  const auto second = connect_to_first_host(1, address);
  JobMemory memory;
  RankTable table{.ranks = std::vector<RankState>(2), .hosts = {"a", "b"}, .boundaries = {0, 1, 2}};
  const Monitor monitor(memory,
                        {.table = std::move(table), .slots = {0}, .host = 0, .heartbeat = std::move(first)});
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (memory.rank(0).ending != RankMemory::Ending::failed) {
    ASSERT_LT(std::chrono::steady_clock::now(), limit);
    second->exchange();
    second->send(0, HeartbeatMessage::Type::failed, {});
    std::this_thread::yield();
  }
}

}  // namespace
}  // namespace lockstep
