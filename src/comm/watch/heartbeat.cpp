#include "comm/watch/heartbeat.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

namespace lockstep {
namespace {

using Type = HeartbeatMessage::Type;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

struct Prefix {
  Type type;
  std::uint32_t bytes;
};

FileDescriptor make_socket() {
  FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const int on = 1;
  setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return socket;
}

sockaddr_in socket_address(std::uint32_t interface, std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = interface;
  address.sin_port = port;
  return address;
}

/// IPv4 addresses of this host's interfaces that are up, those to itself last.
std::vector<std::uint32_t> interfaces() {
  std::vector<std::uint32_t> others, own;
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return {};
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET || (one->ifa_flags & IFF_UP) == 0)
      continue;
    sockaddr_in address{};
    std::memcpy(&address, one->ifa_addr, sizeof address);
    ((one->ifa_flags & IFF_LOOPBACK) != 0 ? own : others).push_back(address.sin_addr.s_addr);
  }
  freeifaddrs(all);
  others.insert(others.end(), own.begin(), own.end());
  if (others.size() > HeartbeatAddress::max_interfaces) others.resize(HeartbeatAddress::max_interfaces);
  return others;
}

/// Messages over a socket that does not block.
class Connection {
 public:
  explicit Connection(FileDescriptor socket) : socket_(std::move(socket)), since_(Clock::now()) {}

  /// For poll(): it can be read, or what is left to send can leave.
  pollfd events() const {
    return {.fd = socket_.get(),
            .events = static_cast<short>(leaving_.empty() ? POLLIN : POLLIN | POLLOUT),
            .revents = 0};
  }
  bool is_open() const { return open_; }
  void close() { open_ = false; }
  Clock::time_point since() const { return since_; }

  /// Drops a message if the one before has not gone: the other host does not read.
  void send(Type type, std::span<const std::byte> bytes) {
    if (!open_ || !leaving_.empty()) return;
    const Prefix prefix{type, static_cast<std::uint32_t>(bytes.size())};
    leaving_.resize(sizeof prefix + bytes.size());
    std::memcpy(leaving_.data(), &prefix, sizeof prefix);
    if (!bytes.empty()) std::memcpy(leaving_.data() + sizeof prefix, bytes.data(), bytes.size());
    flush();
  }

  void flush() {
    while (open_ && !leaving_.empty()) {
      const ssize_t sent =
          ::send(socket_.get(), leaving_.data(), leaving_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent < 0) {
        if (errno != EAGAIN && errno != EINTR && errno != ENOTCONN) open_ = false;
        return;
      }
      leaving_.erase(leaving_.begin(), leaving_.begin() + sent);
    }
  }

  /// Messages that have arrived as a whole.
  std::vector<HeartbeatMessage> receive() {
    std::array<std::byte, 16384> part;
    while (open_) {
      const ssize_t length = ::recv(socket_.get(), part.data(), part.size(), MSG_DONTWAIT);
      if (length < 0 && (errno == EAGAIN || errno == EINTR || errno == ENOTCONN)) break;
      if (length <= 0) {
        open_ = false;
        break;
      }
      const std::size_t before = arrived_.size();
      arrived_.resize(before + static_cast<std::size_t>(length));
      std::memcpy(arrived_.data() + before, part.data(), static_cast<std::size_t>(length));
      if (arrived_.size() > limit) open_ = false;
    }
    std::vector<HeartbeatMessage> messages;
    std::size_t begin = 0;
    while (arrived_.size() - begin >= sizeof(Prefix)) {
      Prefix prefix{};
      std::memcpy(&prefix, arrived_.data() + begin, sizeof prefix);
      if (prefix.bytes > limit) open_ = false;
      if (arrived_.size() - begin - sizeof prefix < prefix.bytes) break;
      const auto first = arrived_.begin() + static_cast<std::ptrdiff_t>(begin + sizeof prefix);
      messages.push_back({prefix.type, 0, {first, first + prefix.bytes}});
      begin += sizeof prefix + prefix.bytes;
    }
    arrived_.erase(arrived_.begin(), arrived_.begin() + static_cast<std::ptrdiff_t>(begin));
    return messages;
  }

 private:
  static constexpr std::size_t limit = 16 << 20;  // bytes of a message; more is not from this program

  FileDescriptor socket_;
  Clock::time_point since_;
  bool open_ = true;
  std::vector<std::byte> leaving_, arrived_;
};

/// First message of who connects.
struct Question {
  std::array<std::uint64_t, 2> secret;
  std::uint64_t host;
};

class Listener final : public Heartbeat {
 public:
  Listener(FileDescriptor socket, std::size_t hosts, const HeartbeatAddress& address)
      : socket_(std::move(socket)), address_(address), hosts_(hosts), seen_(hosts) {}

  std::vector<HeartbeatMessage> exchange() override {
    accept_all();
    std::vector<HeartbeatMessage> messages = authenticate();
    for (std::size_t host = 0; host < hosts_.size(); ++host) {
      if (!hosts_[host]) continue;
      hosts_[host]->flush();
      for (HeartbeatMessage& message : hosts_[host]->receive()) {
        message.host = host;
        messages.push_back(std::move(message));
      }
      if (!hosts_[host]->is_open()) hosts_[host].reset();
    }
    return messages;
  }
  void send(std::size_t host, Type type, std::span<const std::byte> bytes) override {
    if (hosts_[host]) hosts_[host]->send(type, bytes);
  }
  bool is_lost(std::size_t host) const override { return seen_[host] && !hosts_[host]; }
  bool is_connected(std::size_t host) const override { return hosts_[host] != nullptr; }
  void add_descriptors(std::vector<pollfd>& polled) const override {
    polled.push_back({.fd = socket_.get(), .events = POLLIN, .revents = 0});
    for (const PendingConnection& pending : pending_) polled.push_back(pending.connection->events());
    for (const auto& connection : hosts_) {
      if (connection) polled.push_back(connection->events());
    }
  }

 private:
  void accept_all() {
    constexpr std::size_t max_pending = 256;
    while (pending_.size() < max_pending) {
      FileDescriptor accepted(accept4(socket_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (accepted.get() < 0) return;
      pending_.push_back({std::make_unique<Connection>(std::move(accepted))});
    }
  }
  /// Answers pending connections whose question has the secret, and closes the others. A host that has found
  /// several ways to this one answers over one of them, which stays. Returns the messages of those that stay.
  std::vector<HeartbeatMessage> authenticate() {
    std::vector<HeartbeatMessage> messages;
    const auto now = Clock::now();
    for (PendingConnection& pending : pending_) {
      for (HeartbeatMessage& message : pending.connection->receive()) {
        if (!pending.connection) {
          message.host = pending.host;
          messages.push_back(std::move(message));
        } else if (pending.host == unknown) {
          pending.host = host_that_asks(message);
          if (pending.host == unknown) pending.connection->close();
          pending.connection->send(Type::answer, std::as_bytes(std::span(address_.answer)));
        } else if (message.type == Type::answer) {
          seen_[pending.host] = true;
          hosts_[pending.host] = std::move(pending.connection);
          messages.push_back({.type = Type::answer, .host = pending.host});
        }
      }
      if (!pending.connection) continue;
      pending.connection->flush();
      if (now - pending.connection->since() > milliseconds(5000)) pending.connection->close();
      if (!pending.connection->is_open()) pending.connection.reset();
    }
    std::erase_if(pending_, [](const PendingConnection& pending) { return pending.connection == nullptr; });
    return messages;
  }
  std::size_t host_that_asks(const HeartbeatMessage& message) const {
    Question question{};
    if (message.type != Type::question || message.bytes.size() != sizeof question) return unknown;
    std::memcpy(&question, message.bytes.data(), sizeof question);
    return question.secret == address_.question && question.host < hosts_.size() ? question.host : unknown;
  }

  static constexpr std::size_t unknown = ~std::size_t{0};
  struct PendingConnection {
    std::unique_ptr<Connection> connection;
    std::size_t host = unknown;
  };
  FileDescriptor socket_;
  HeartbeatAddress address_;
  std::vector<PendingConnection> pending_;
  std::vector<std::unique_ptr<Connection>> hosts_;
  std::vector<bool> seen_;
};

class Connector final : public Heartbeat {
 public:
  Connector(std::size_t host, const HeartbeatAddress& address) : host_(host), address_(address) {}

  std::vector<HeartbeatMessage> exchange() override {
    std::vector<HeartbeatMessage> messages;
    if (!connection_ && connect()) messages.push_back({.type = Type::answer});
    if (!connection_) return messages;
    connection_->flush();
    for (HeartbeatMessage& message : connection_->receive()) messages.push_back(std::move(message));
    if (!connection_->is_open()) {
      connection_.reset();
      next_attempt_ = Clock::now();
    }
    return messages;
  }
  void send(std::size_t /*host*/, Type type, std::span<const std::byte> bytes) override {
    if (connection_) connection_->send(type, bytes);
  }
  bool is_lost(std::size_t /*host*/) const override { return seen_ && !connection_; }
  bool is_connected(std::size_t /*host*/) const override { return connection_ != nullptr; }
  void add_descriptors(std::vector<pollfd>& polled) const override {
    if (connection_) polled.push_back(connection_->events());
    for (const auto& attempt : attempts_) polled.push_back(attempt->events());
  }

 private:
  /// Tries all interfaces of the first host at once, every 2 s. Returns whether one has answered.
  bool connect() {
    for (auto& attempt : attempts_) {
      attempt->flush();
      const std::vector<HeartbeatMessage> messages = attempt->receive();
      if (!messages.empty() && is_answer(messages[0])) {
        connection_ = std::move(attempt);
        connection_->send(Type::answer, {});
        seen_ = true;
        attempts_.clear();
        return true;
      }
      if (!attempt->is_open()) attempt.reset();
    }
    std::erase(attempts_, nullptr);
    if (Clock::now() < next_attempt_) return false;
    next_attempt_ = Clock::now() + milliseconds(2000);
    attempts_.clear();
    for (std::uint32_t i = 0; i < address_.count; ++i) start_attempt(address_.interfaces[i]);
    return false;
  }
  void start_attempt(std::uint32_t interface) {
    FileDescriptor socket = make_socket();
    const sockaddr_in to = socket_address(interface, address_.port);
    const int result = ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to);
    if (result != 0 && errno != EINPROGRESS) return;
    attempts_.push_back(std::make_unique<Connection>(std::move(socket)));
    const Question question{address_.question, host_};
    attempts_.back()->send(Type::question, std::as_bytes(std::span(&question, 1)));
  }
  bool is_answer(const HeartbeatMessage& message) const {
    const auto wanted = std::as_bytes(std::span(address_.answer));
    return message.type == Type::answer && std::ranges::equal(message.bytes, wanted);
  }

  std::size_t host_;
  HeartbeatAddress address_;
  std::vector<std::unique_ptr<Connection>> attempts_;
  std::unique_ptr<Connection> connection_;
  Clock::time_point next_attempt_ = Clock::now();
  bool seen_ = false;
};

}  // namespace

std::unique_ptr<Heartbeat> listen_for_hosts(std::size_t hosts, HeartbeatAddress& address) {
  FileDescriptor socket = make_socket();
  sockaddr_in own = socket_address(htonl(INADDR_ANY), 0);
  socklen_t length = sizeof own;
  auto* const generic = reinterpret_cast<sockaddr*>(&own);
  if (socket.get() < 0 || bind(socket.get(), generic, length) != 0 || listen(socket.get(), 256) != 0 ||
      getsockname(socket.get(), generic, &length) != 0) {
    return nullptr;
  }
  for (auto* secret : {&address.question, &address.answer}) {
    if (getrandom(secret->data(), sizeof *secret, 0) != sizeof *secret) return nullptr;
  }
  const std::vector<std::uint32_t> found = interfaces();
  std::ranges::copy(found, address.interfaces.begin());
  address.count = static_cast<std::uint32_t>(found.size());
  address.port = own.sin_port;
  return std::make_unique<Listener>(std::move(socket), hosts, address);
}

std::unique_ptr<Heartbeat> connect_to_first_host(std::size_t host, const HeartbeatAddress& address) {
  return std::make_unique<Connector>(host, address);
}

}  // namespace lockstep
