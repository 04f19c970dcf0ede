#include "comm/watch/heartbeat.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <chrono>
#include <thread>

namespace lockstep {
namespace {

using Type = HeartbeatMessage::Type;

/// Lets both ends work until `done`; fails the test after 20 s.
template <class Done>
void work_until(const std::vector<Heartbeat*>& ends, std::vector<HeartbeatMessage>& arrived,
                const Done& done) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!done()) {
    ASSERT_LT(std::chrono::steady_clock::now(), limit);
    for (Heartbeat* end : ends) {
      for (HeartbeatMessage& message : end->exchange()) arrived.push_back(std::move(message));
    }
    std::this_thread::yield();
  }
}

class HeartbeatTest : public testing::Test {
 protected:
  HeartbeatTest() : first_(listen_for_hosts(3, address_)) {}

  HeartbeatAddress address_;
  std::unique_ptr<Heartbeat> first_;
  std::vector<HeartbeatMessage> arrived_;
};

TEST_F(HeartbeatTest, MessagesArriveInBothDirections) {
  ASSERT_NE(first_, nullptr);
  ASSERT_GT(address_.count, 0U);
  const auto second = connect_to_first_host(2, address_);
  EXPECT_FALSE(second->is_connected(0));
  work_until({first_.get(), second.get()}, arrived_,
             [&] { return first_->is_connected(2) && second->is_connected(0); });
  EXPECT_FALSE(first_->is_connected(1));
  arrived_.clear();
  std::vector<std::byte> large(1 << 20, std::byte{7});
  second->send(0, Type::states, large);
  work_until({first_.get(), second.get()}, arrived_, [&] { return arrived_.size() == 1; });
  EXPECT_EQ(arrived_[0].host, 2U);
  EXPECT_EQ(arrived_[0].bytes, large);
  first_->send(2, Type::end, {});
  work_until({second.get()}, arrived_, [&] { return arrived_.size() == 2; });
  EXPECT_EQ(arrived_[1].type, Type::end);
}

/// The monitor sleeps in poll(), so the descriptors have to tell when there is something to do.
TEST_F(HeartbeatTest, HostsConnectAndTellEachOtherWithoutATimer) {
  const auto second = connect_to_first_host(2, address_);
  while (arrived_.size() < 3) {
    for (Heartbeat* end : {first_.get(), second.get()}) {
      for (HeartbeatMessage& message : end->exchange()) {
        if (message.type == Type::answer && end == second.get()) second->send(0, Type::states, {});
        arrived_.push_back(std::move(message));
      }
    }
    std::vector<pollfd> polled;
    first_->add_descriptors(polled);
    second->add_descriptors(polled);
    const int limit = arrived_.size() < 3 ? 20'000 : 0;  // ms
    ASSERT_TRUE(poll(polled.data(), polled.size(), limit) > 0 || limit == 0) << "nothing to wait for";
  }
  EXPECT_EQ(arrived_[0].type, Type::answer) << "to the second host";
  EXPECT_EQ(arrived_[0].host, 0U);
  EXPECT_EQ(arrived_[1].type, Type::answer) << "to the first host";
  EXPECT_EQ(arrived_[1].host, 2U);
  EXPECT_EQ(arrived_[2].type, Type::states) << "sent as soon as the connection was there";
  EXPECT_EQ(arrived_[2].host, 2U);
}

TEST_F(HeartbeatTest, ALostConnectionIsNoticed) {
  auto second = connect_to_first_host(1, address_);
  work_until({first_.get(), second.get()}, arrived_,
             [&] { return first_->is_connected(1) && second->is_connected(0); });
  EXPECT_FALSE(first_->is_lost(1));
  arrived_.clear();
  second->send(0, Type::goodbye, {});
  second.reset();
  work_until({first_.get()}, arrived_, [&] { return first_->is_lost(1); });
  ASSERT_EQ(arrived_.size(), 1U);
  EXPECT_EQ(arrived_[0].type, Type::goodbye);
  EXPECT_FALSE(first_->is_lost(2)) << "it has never been connected";
  const auto again = connect_to_first_host(1, address_);
  work_until({first_.get(), again.get()}, arrived_, [&] { return first_->is_connected(1); });
}

TEST_F(HeartbeatTest, StrangersAreSentAway) {
  HeartbeatAddress wrong = address_;
  wrong.question[0] ^= 1;
  const auto pending = connect_to_first_host(1, wrong);
  HeartbeatAddress not_trusted = address_;
  not_trusted.answer[1] ^= 1;
  const auto careful = connect_to_first_host(1, not_trusted);
  const auto friendly = connect_to_first_host(2, address_);
  work_until({first_.get(), pending.get(), careful.get(), friendly.get()}, arrived_,
             [&] { return first_->is_connected(2) && friendly->is_connected(0); });
  EXPECT_FALSE(first_->is_connected(1));
  EXPECT_FALSE(pending->is_connected(0));
  EXPECT_FALSE(careful->is_connected(0));
}

}  // namespace
}  // namespace lockstep
