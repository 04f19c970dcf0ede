#include "watch/heartbeat.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <thread>

#include "watch/authenticated_connection.h"

namespace lockstep {
namespace {

using Type = HeartbeatMessage::Type;

class HeartbeatTest : public testing::Test {
 protected:
  HeartbeatTest() : first_(listen_for_hosts(3, address_)) {}

  /// Runs the endpoints until `done` returns true; fails the test after 60 s.
  template <class Done>
  void work_until(const std::vector<Heartbeat*>& ends, const Done& done) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!done()) {
      ASSERT_LT(std::chrono::steady_clock::now(), limit);
      for (Heartbeat* end : ends) {
        for (HeartbeatMessage& message : end->exchange()) arrived_.push_back(std::move(message));
      }
      std::this_thread::yield();
    }
  }

  HeartbeatAddress address_;
  std::unique_ptr<Heartbeat> first_;
  std::vector<HeartbeatMessage> arrived_;
};

TEST_F(HeartbeatTest, MessagesArriveInBothDirections) {
  ASSERT_NE(first_, nullptr);
  ASSERT_GT(address_.count, 0U);
  const auto second = connect_to_first_host(2, address_);
  EXPECT_FALSE(second->is_connected(0));
  work_until({first_.get(), second.get()},
             [&] { return first_->is_connected(2) && second->is_connected(0); });
  EXPECT_FALSE(first_->is_connected(1));
  arrived_.clear();
  std::vector<std::byte> large(1 << 20, std::byte{7});
  second->send(0, Type::states, large);
  work_until({first_.get(), second.get()}, [&] { return arrived_.size() == 1; });
  EXPECT_EQ(arrived_[0].host, 2U);
  EXPECT_EQ(arrived_[0].bytes, large);
  first_->send(2, Type::end, {});
  work_until({second.get()}, [&] { return arrived_.size() == 2; });
  EXPECT_EQ(arrived_[1].type, Type::end);
}

/// The monitor sleeps in poll(), so descriptors must become ready when there is work.
TEST_F(HeartbeatTest, HostsConnectAndExchangeStatesWithoutATimer) {
  const auto second = connect_to_first_host(2, address_);
  while (arrived_.size() < 3) {
    for (Heartbeat* end : {first_.get(), second.get()}) {
      for (HeartbeatMessage& message : end->exchange()) {
        if (message.type == Type::opened && end == second.get()) second->send(0, Type::states, {});
        arrived_.push_back(std::move(message));
      }
    }
    std::vector<pollfd> polled;
    first_->add_descriptors(polled);
    second->add_descriptors(polled);
    const int limit = arrived_.size() < 3 ? 20'000 : 0;  // ms
    ASSERT_TRUE(poll(polled.data(), polled.size(), limit) > 0 || limit == 0) << "nothing to wait for";
  }
  EXPECT_EQ(arrived_[0].type, Type::opened) << "to the second host";
  EXPECT_EQ(arrived_[0].host, 0U);
  EXPECT_EQ(arrived_[1].type, Type::opened) << "to the first host";
  EXPECT_EQ(arrived_[1].host, 2U);
  EXPECT_EQ(arrived_[2].type, Type::states) << "sent as soon as the connection was there";
  EXPECT_EQ(arrived_[2].host, 2U);
}

TEST_F(HeartbeatTest, ALostConnectionIsNoticed) {
  auto second = connect_to_first_host(1, address_);
  work_until({first_.get(), second.get()},
             [&] { return first_->is_connected(1) && second->is_connected(0); });
  EXPECT_FALSE(first_->is_lost(1));
  arrived_.clear();
  second->send(0, Type::goodbye, {});
  second.reset();
  work_until({first_.get()}, [&] { return first_->is_lost(1); });
  ASSERT_EQ(arrived_.size(), 1U);
  EXPECT_EQ(arrived_[0].type, Type::goodbye);
  EXPECT_FALSE(first_->is_lost(2)) << "it has never been connected";
  const auto again = connect_to_first_host(1, address_);
  work_until({first_.get(), again.get()}, [&] { return first_->is_connected(1); });
}

TEST_F(HeartbeatTest, StrangersAreSentAway) {
  HeartbeatAddress wrong = address_;
  wrong.key[0] ^= std::byte{1};
  const auto stranger = connect_to_first_host(1, wrong);
  const auto no_host = connect_to_first_host(3, address_);
  const auto friendly = connect_to_first_host(2, address_);
  work_until({first_.get(), stranger.get(), no_host.get(), friendly.get()},
             [&] { return first_->is_connected(2) && friendly->is_connected(0); });
  EXPECT_FALSE(first_->is_connected(1));
  EXPECT_FALSE(stranger->is_connected(0));
}

/// A program that relays bytes between two hosts, on a port announced in place of the real one.
class Relay {
 public:
  explicit Relay(const HeartbeatAddress& target) : target_(target), listener_(tcp_socket()) {
    sockaddr_in own = loopback(0);
    socklen_t length = sizeof own;
    auto* const generic = reinterpret_cast<sockaddr*>(&own);
    EXPECT_EQ(bind(listener_.get(), generic, length), 0);
    EXPECT_EQ(listen(listener_.get(), 16), 0);
    EXPECT_EQ(fcntl(listener_.get(), F_SETFL, O_NONBLOCK), 0);
    EXPECT_EQ(getsockname(listener_.get(), generic, &length), 0);
    port_ = own.sin_port;
  }
  /// Address that directs a host to the relay.
  HeartbeatAddress address() const {
    HeartbeatAddress address = target_;
    address.port = port_;
    address.count = 1;
    address.interfaces[0] = htonl(INADDR_LOOPBACK);
    return address;
  }
  /// Passes on the bytes that have arrived, after `change` may have modified them.
  void work(const std::function<void(std::vector<std::byte>&)>& change) {
    FileDescriptor accepted(accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK));
    if (accepted.get() >= 0) {
      near_ = std::move(accepted);
      far_ = connect_to(target_.port);
    }
    pass_on(near_, far_, change);
    pass_on(far_, near_, change);
  }
  static FileDescriptor tcp_socket() {
    return FileDescriptor(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  }
  static sockaddr_in loopback(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = port;
    return address;
  }
  static FileDescriptor connect_to(std::uint16_t port) {
    FileDescriptor socket = tcp_socket();
    const sockaddr_in to = loopback(port);
    EXPECT_EQ(connect(socket.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
    return socket;
  }

 private:
  static void pass_on(const FileDescriptor& from, const FileDescriptor& to,
                      const std::function<void(std::vector<std::byte>&)>& change) {
    std::vector<std::byte> bytes(4096);
    const ssize_t length = recv(from.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (length <= 0) return;
    bytes.resize(static_cast<std::size_t>(length));
    change(bytes);
    send(to.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }

  HeartbeatAddress target_;
  FileDescriptor listener_, near_, far_;
  std::uint16_t port_ = 0;
};

TEST_F(HeartbeatTest, TheKeyIsNeverSent) {
  Relay relay(address_);
  std::vector<std::byte> seen;
  const auto second = connect_to_first_host(1, relay.address());
  work_until({first_.get(), second.get()}, [&] {
    relay.work([&](std::vector<std::byte>& bytes) { seen.insert(seen.end(), bytes.begin(), bytes.end()); });
    if (arrived_.size() == 2) second->send(0, Type::states, {});
    return arrived_.size() > 2;
  });
  EXPECT_FALSE(seen.empty());
  for (std::size_t part = 0; part < address_.key.size(); part += 8) {
    const auto eight = std::span(address_.key).subspan(part, 8);
    EXPECT_EQ(std::search(seen.begin(), seen.end(), eight.begin(), eight.end()), seen.end());
  }
}

TEST_F(HeartbeatTest, AChangedOrRepeatedMessageClosesTheConnection) {
  for (const bool repeats : {false, true}) {
    arrived_.clear();
    Relay relay(address_);
    const auto second = connect_to_first_host(1, relay.address());
    bool interferes = false;
    const auto work = [&](const auto& done) {
      work_until({first_.get(), second.get()}, [&] {
        relay.work([&](std::vector<std::byte>& bytes) {
          const std::vector<std::byte> once = bytes;
          if (interferes && repeats) bytes.insert(bytes.end(), once.begin(), once.end());
          if (interferes && !repeats) bytes.back() ^= std::byte{1};
        });
        return done();
      });
    };
    work([&] { return first_->is_connected(1) && second->is_connected(0); });
    arrived_.clear();
    interferes = true;
    second->send(0, Type::verdict, std::as_bytes(std::span("text")));
    work([&] { return first_->is_lost(1); });
    EXPECT_EQ(arrived_.size(), repeats ? 1U : 0U) << "the first of two equal ones is good";
  }
}

TEST(AuthenticatedConnectionTest, AStrangerCannotMakeItReserveMemory) {
  std::array<int, 2> ends{};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  AuthenticatedConnection connection{FileDescriptor(ends[0]), HeartbeatKey{}};
  const FileDescriptor stranger(ends[1]);
  const std::array<std::uint32_t, 2> announced{0, 1 << 20};  // type and size in bytes of a message
  ASSERT_EQ(send(stranger.get(), announced.data(), sizeof announced, 0), ssize_t{sizeof announced});
  const std::vector<std::byte> more(AuthenticatedConnection::prefix_bytes);
  ASSERT_GT(send(stranger.get(), more.data(), more.size(), 0), 0);
  connection.receive();
  EXPECT_FALSE(connection.is_open());
}

/// Idle connections must use few descriptors and not wake a thread that sleeps in poll().
TEST_F(HeartbeatTest, IdleStrangersAreFewAndDoNotWakeIt) {
  std::vector<FileDescriptor> strangers;
  for (int i = 0; i < 40; ++i) strangers.push_back(Relay::connect_to(address_.port));
  first_->exchange();
  std::vector<pollfd> polled;
  first_->add_descriptors(polled);
  EXPECT_LE(polled.size(), 32U);
  EXPECT_EQ(poll(polled.data(), polled.size(), 0), 0);
  const auto host = connect_to_first_host(1, address_);
  work_until({first_.get(), host.get()}, [&] { return first_->is_connected(1); });
}

TEST(HeartbeatAddressTest, AnotherMachineLeavesOutLoopbackAndItsOwnAddresses) {
  const auto ip = [](const char* text) { return inet_addr(text); };
  HeartbeatAddress address{.port = 1, .count = 3, .network = 7};
  address.interfaces = {ip("10.0.0.1"), ip("172.17.0.1"), ip("127.0.0.1")};
  const std::vector<std::uint32_t> own{ip("10.0.0.2"), ip("172.17.0.1")};
  EXPECT_EQ(reachable_interfaces(address, 8, own), std::vector<std::uint32_t>{ip("10.0.0.1")});
  EXPECT_EQ(reachable_interfaces(address, 0, own), std::vector<std::uint32_t>{ip("10.0.0.1")});
  EXPECT_EQ(reachable_interfaces(address, 7, own).size(), 3U) << "the same machine";
}

TEST_F(HeartbeatTest, HostsThatHaveNotConnectedAreNamed) {
  const std::vector<std::string> hosts{"a", "b", "c"};
  EXPECT_EQ(warning_of_missing_hosts(*first_, hosts),
            "no heartbeat from host b, c: a firewall may forbid them TCP connections to host a; the run "
            "continues, but may notice a failure of these hosts late");
  auto second = connect_to_first_host(1, address_);
  work_until({first_.get(), second.get()}, [&] { return first_->is_connected(1); });
  EXPECT_TRUE(warning_of_missing_hosts(*first_, hosts).starts_with("no heartbeat from host c: "));
  const auto third = connect_to_first_host(2, address_);
  second.reset();
  work_until({first_.get(), third.get()}, [&] { return first_->is_lost(1) && first_->is_connected(2); });
  EXPECT_EQ(warning_of_missing_hosts(*first_, hosts), "") << "a host that ended was heard before";
}

}  // namespace
}  // namespace lockstep
