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
  std::uint16_t port = 0;  ///< in the network's byte order; 0: nobody listens
  std::uint32_t count = 0;
  std::array<std::uint32_t, max_interfaces> interfaces =
      {};                     ///< IPv4 addresses of the host, in the network's order
  std::uint64_t network = 0;  ///< own_network() of rank 0
  HeartbeatKey key = {};
};

/// A message between hosts; bytes follow from its type. `opened`, without bytes: a connection is open, and
/// messages sent from now on arrive. `echo` returns the bytes of the first host's latest states. `goodbye`:
/// the ranks of a host have ended their work; `failed`: one of them has printed an error, so that the job
/// ends.
struct HeartbeatMessage {
  enum class Type : std::uint32_t { hello, opened, states, verdict, end, goodbye, failed, echo };
  Type type = Type::states;
  std::size_t host = 0;  ///< number of the host at the other end
  std::vector<std::byte> bytes = {};

  std::string text() const { return std::string(as_text(bytes)); }
};

/// Connections between the first rank of the first host and those of all other hosts. No call blocks. Errors
/// close the connection concerned, which the other host opens again. One thread calls.
class Heartbeat {
 public:
  virtual ~Heartbeat() = default;
  /// Accepts or opens connections, sends and receives what is possible. Returns what has arrived.
  virtual std::vector<HeartbeatMessage> exchange() = 0;
  /// Sends to `host` if there is a connection and earlier messages were sent completely.
  virtual void send(std::size_t host, HeartbeatMessage::Type type, std::span<const std::byte> bytes) = 0;
  /// Whether a connection with `host` was open and has closed.
  virtual bool is_lost(std::size_t host) const = 0;
  virtual bool is_connected(std::size_t host) const = 0;
  /// Appends descriptors and the events at which exchange() has something to do.
  virtual void add_descriptors(std::vector<pollfd>& polled) const = 0;
};

/// Addresses at which a process of `network`, whose interfaces have the addresses `own`, may find the first
/// host. On another machine, loopback and addresses that are also its own (such as those of virtual bridges)
/// lead to another program.
std::vector<std::uint32_t> reachable_interfaces(const HeartbeatAddress& address, std::uint64_t network,
                                                std::span<const std::uint32_t> own);

/// Warning about `hosts` that have never connected to `first`, the heartbeat of the first of them; empty: all
/// have.
std::string warning_of_missing_hosts(const Heartbeat& first, const std::vector<std::string>& hosts);

/// Listens on all interfaces for `hosts` - 1 other hosts; `address` is set to the address for them. Null with
/// errno if that is not possible.
std::unique_ptr<Heartbeat> listen_for_hosts(std::size_t hosts, HeartbeatAddress& address);
/// Connects host number `host` to host 0, over the first interface that answers.
std::unique_ptr<Heartbeat> connect_to_first_host(std::size_t host, const HeartbeatAddress& address);

}  // namespace lockstep
