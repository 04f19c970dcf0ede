#include "watch/heartbeat.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <utility>

#include "core/clock.h"
#include "core/process/interfaces.h"
#include "core/process/process.h"
#include "watch/authenticated_connection.h"

namespace lockstep {
namespace {

using Type = HeartbeatMessage::Type;

/// Maximum number of connections that wait to be authenticated: enough for a few attempts of each host.
/// Further connections wait in the kernel.
constexpr std::size_t max_pending = 32;
constexpr double time_to_authenticate = 2.0;   // s
constexpr double time_between_attempts = 2.0;  // s

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

/// IPv4 addresses of this host's interfaces that are up, loopback last; only of interfaces that Open MPI is
/// restricted to, if this host has any of them.
std::vector<std::uint32_t> interfaces() {
  std::vector<Interface> all = own_interfaces();
  const char* const list = std::getenv(interfaces_variable);
  const auto listed = [&](const Interface& interface) { return has_interface(list, interface); };
  if (list != nullptr && std::ranges::any_of(all, listed)) std::erase_if(all, std::not_fn(listed));
  std::stable_partition(all.begin(), all.end(), std::not_fn(&Interface::is_loopback));
  if (all.size() > HeartbeatAddress::max_interfaces) all.resize(HeartbeatAddress::max_interfaces);
  std::vector<std::uint32_t> addresses;
  for (const Interface& interface : all) addresses.push_back(address_number(interface.address));
  return addresses;
}

class Listener final : public Heartbeat {
 public:
  Listener(FileDescriptor socket, std::size_t hosts, const HeartbeatKey& key)
      : socket_(std::move(socket)), key_(key), hosts_(hosts), seen_(hosts) {}

  std::vector<HeartbeatMessage> exchange() override {
    std::vector<HeartbeatMessage> messages;
    accept_pending();
    for (ConnectionPointer& connection : pending_) authenticate(connection, messages);
    std::erase(pending_, nullptr);
    for (ConnectionPointer& connection : hosts_) {
      if (!connection) continue;
      connection->flush();
      std::ranges::move(connection->receive(), std::back_inserter(messages));
      if (!connection->is_open()) connection.reset();
    }
    return messages;
  }
  void send(std::size_t host, Type type, std::span<const std::byte> bytes) override {
    if (hosts_[host]) hosts_[host]->send(type, bytes);
  }
  bool is_lost(std::size_t host) const override { return seen_[host] && !hosts_[host]; }
  bool is_connected(std::size_t host) const override { return hosts_[host] != nullptr; }
  void add_descriptors(std::vector<pollfd>& polled) const override {
    if (pending_.size() < max_pending)
      polled.push_back({.fd = socket_.get(), .events = POLLIN, .revents = 0});
    for (const ConnectionPointer& connection : pending_) polled.push_back(connection->events());
    for (const ConnectionPointer& connection : hosts_) {
      if (connection) polled.push_back(connection->events());
    }
  }

 private:
  using ConnectionPointer = std::unique_ptr<AuthenticatedConnection>;

  void accept_pending() {
    while (pending_.size() < max_pending) {
      FileDescriptor accepted(accept4(socket_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (accepted.get() < 0) return;
      pending_.push_back(std::make_unique<AuthenticatedConnection>(std::move(accepted), key_));
    }
  }
  /// A host that connects through several interfaces closes all connections but one.
  void authenticate(ConnectionPointer& pending, std::vector<HeartbeatMessage>& messages) {
    std::vector<HeartbeatMessage> received = pending->receive();
    pending->flush();
    if (pending->is_authenticated() && pending->host() < hosts_.size()) {
      const std::size_t host = pending->host();
      seen_[host] = true;
      hosts_[host] = std::move(pending);
      std::ranges::move(received, std::back_inserter(messages));
    } else if (!pending->is_open() || pending->is_authenticated() ||
               steady_seconds() > pending->since() + time_to_authenticate) {
      pending.reset();
    }
  }

  FileDescriptor socket_;
  HeartbeatKey key_;
  std::vector<ConnectionPointer> pending_;
  std::vector<ConnectionPointer> hosts_;
  std::vector<bool> seen_;
};

class Connector final : public Heartbeat {
 public:
  Connector(std::size_t host, const HeartbeatAddress& address)
      : host_(host),
        key_(address.key),
        port_(address.port),
        interfaces_(reachable_interfaces(address, own_network(), interfaces())) {}

  std::vector<HeartbeatMessage> exchange() override {
    std::vector<HeartbeatMessage> messages;
    if (!connection_) connect(messages);
    if (!connection_) return messages;
    connection_->flush();
    std::ranges::move(connection_->receive(), std::back_inserter(messages));
    if (!connection_->is_open()) {
      connection_.reset();
      next_attempt_ = steady_seconds();
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
  /// Tries all interfaces of the first host at once, every 2 s, until one has answered.
  void connect(std::vector<HeartbeatMessage>& messages) {
    for (auto& attempt : attempts_) {
      attempt->flush();
      messages = attempt->receive();
      if (attempt->is_authenticated()) {
        connection_ = std::move(attempt);
        seen_ = true;
        attempts_.clear();
        return;
      }
      if (!attempt->is_open()) attempt.reset();
    }
    std::erase(attempts_, nullptr);
    if (steady_seconds() < next_attempt_) return;
    next_attempt_ = steady_seconds() + time_between_attempts;
    attempts_.clear();
    for (const std::uint32_t interface : interfaces_) start_attempt(interface);
  }
  void start_attempt(std::uint32_t interface) {
    FileDescriptor socket = make_socket();
    const sockaddr_in to = socket_address(interface, port_);
    const int result = ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to);
    if (result != 0 && errno != EINPROGRESS) return;
    attempts_.push_back(std::make_unique<AuthenticatedConnection>(std::move(socket), key_, host_));
  }

  std::size_t host_;
  HeartbeatKey key_;
  std::uint16_t port_;
  std::vector<std::uint32_t> interfaces_;
  std::vector<std::unique_ptr<AuthenticatedConnection>> attempts_;
  std::unique_ptr<AuthenticatedConnection> connection_;
  double next_attempt_ = steady_seconds();
  bool seen_ = false;
};

}  // namespace

std::vector<std::uint32_t> reachable_interfaces(const HeartbeatAddress& address, std::uint64_t network,
                                                std::span<const std::uint32_t> own) {
  std::vector<std::uint32_t> reachable(address.interfaces.begin(),
                                       address.interfaces.begin() + address.count);
  if (network != 0 && network == address.network) return reachable;
  std::erase_if(reachable, [&](std::uint32_t interface) {
    const bool is_loopback = ntohl(interface) >> 24 == IN_LOOPBACKNET;
    return is_loopback || std::ranges::find(own, interface) != own.end();
  });
  return reachable;
}

std::string warning_of_missing_hosts(const Heartbeat& first, const std::vector<std::string>& hosts) {
  std::string missing;
  for (std::size_t host = 1; host < hosts.size(); ++host) {
    if (first.is_connected(host) || first.is_lost(host)) continue;
    missing += (missing.empty() ? "" : ", ") + hosts[host];
  }
  if (missing.empty()) return {};
  return fmt::format(
      "no heartbeat from host {}: a firewall may forbid them TCP connections to host {}; the run continues, "
      "but may notice a failure of these hosts late",
      missing, hosts[0]);
}

std::unique_ptr<Heartbeat> listen_for_hosts(std::size_t hosts, HeartbeatAddress& address) {
  FileDescriptor socket = make_socket();
  sockaddr_in own = socket_address(htonl(INADDR_ANY), 0);
  socklen_t length = sizeof own;
  auto* const generic = reinterpret_cast<sockaddr*>(&own);
  if (socket.get() < 0 || bind(socket.get(), generic, length) != 0 || listen(socket.get(), 256) != 0 ||
      getsockname(socket.get(), generic, &length) != 0 ||
      getrandom(address.key.data(), address.key.size(), 0) != static_cast<ssize_t>(address.key.size())) {
    return nullptr;
  }
  const std::vector<std::uint32_t> found = interfaces();
  std::ranges::copy(found, address.interfaces.begin());
  address.count = static_cast<std::uint32_t>(found.size());
  address.network = own_network();
  address.port = own.sin_port;
  return std::make_unique<Listener>(std::move(socket), hosts, address.key);
}

std::unique_ptr<Heartbeat> connect_to_first_host(std::size_t host, const HeartbeatAddress& address) {
  return std::make_unique<Connector>(host, address);
}

}  // namespace lockstep
