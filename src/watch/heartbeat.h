#pragma once

#include <poll.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/files/file.h"
#include "core/text/as_text.h"

namespace lockstep {

/// Secret that only the ranks of a job know. It is never sent over a connection.
using HeartbeatKey = std::array<std::byte, 32>;

/// Address at which the first ranks of other hosts reach rank 0.
struct HeartbeatAddress {
  static constexpr std::size_t max_interfaces = 16;
  std::uint16_t port = 0;  ///< in network byte order; 0: nobody listens
  std::uint32_t count = 0;
  std::array<std::uint32_t, max_interfaces> interfaces =
      {};                     ///< IPv4 addresses of the host, in network byte order
  std::uint64_t network = 0;  ///< own_network() of rank 0
  HeartbeatKey key = {};
};

/// A message between hosts; its type determines the content of `bytes`. `opened`, without bytes: a connection
/// is open, and messages sent from now on arrive. `echo` returns the bytes of the first host's latest
/// `states`. `goodbye`: the ranks of a host have ended their work. `failed`: a rank of the host has printed
/// an error, so the job ends.
struct HeartbeatMessage {
  enum class Type : std::uint32_t { hello, opened, states, verdict, end, goodbye, failed, echo };
  Type type = Type::states;
  std::size_t host = 0;  ///< number of the host at the other end
  std::vector<std::byte> bytes = {};

  std::string text() const { return std::string(as_text(bytes)); }
};

/// Connections between the first rank of the first host and the first ranks of all other hosts. No call
/// blocks. An error closes its connection, which the other host then opens again. For use by one thread.
class Heartbeat {
 public:
  virtual ~Heartbeat() = default;
  /// Accepts or opens connections, and sends and receives as much as possible. Returns the messages that have
  /// arrived.
  virtual std::vector<HeartbeatMessage> exchange() = 0;
  /// Sends to `host` if it is connected and earlier messages were sent completely; else drops the message.
  virtual void send(std::size_t host, HeartbeatMessage::Type type, std::span<const std::byte> bytes) = 0;
  /// Whether a connection with `host` was open and has been closed.
  virtual bool is_lost(std::size_t host) const = 0;
  virtual bool is_connected(std::size_t host) const = 0;
  /// Appends descriptors and the events at which exchange() has something to do.
  virtual void add_descriptors(std::vector<pollfd>& polled) const = 0;
};

/// Addresses at which a process of `network`, whose interfaces have the addresses `own`, may reach the first
/// host. On another machine, loopback addresses and addresses in `own` (such as a virtual bridge's) would
/// lead to a different program.
std::vector<std::uint32_t> reachable_interfaces(const HeartbeatAddress& address, std::uint64_t network,
                                                std::span<const std::uint32_t> own);

/// Warning that names the `hosts` that never connected to the first host; empty if all did. `first`:
/// heartbeat of the first host.
std::string warning_of_missing_hosts(const Heartbeat& first, const std::vector<std::string>& hosts);

/// Listens on all interfaces for `hosts` - 1 other hosts; sets `address` to the address at which they can
/// connect. Null with errno if that is not possible.
std::unique_ptr<Heartbeat> listen_for_hosts(std::size_t hosts, HeartbeatAddress& address);
/// Connects host number `host` to host 0, over the first interface that answers.
std::unique_ptr<Heartbeat> connect_to_first_host(std::size_t host, const HeartbeatAddress& address);

}  // namespace lockstep
