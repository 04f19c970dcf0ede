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

namespace lockstep {

/// How the first ranks of the other hosts reach that of the first host.
struct HeartbeatAddress {
  static constexpr std::size_t max_interfaces = 16;
  std::uint16_t port = 0;  ///< in the network's byte order; 0: nobody listens
  std::uint32_t count = 0;
  std::array<std::uint32_t, max_interfaces> interfaces =
      {};  ///< IPv4 addresses of the host, in the network's order
  std::array<std::uint64_t, 2> question = {},
                               answer = {};  ///< random: who connects sends one, gets the other
};

/// A message between hosts; bytes follow from its type. `answer`, without bytes: a connection has been
/// opened, and what is sent from now on arrives.
struct HeartbeatMessage {
  enum class Type : std::uint32_t { question, answer, states, verdict, end, goodbye };
  Type type = Type::states;
  std::size_t host = 0;  ///< number of the host at the other end
  std::vector<std::byte> bytes = {};

  std::string text() const { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }
};

/// Connections between the first rank of the first host and those of all other hosts. No call blocks. Errors
/// close the connection concerned, which the other host opens again. One thread calls.
class Heartbeat {
 public:
  virtual ~Heartbeat() = default;
  /// Accepts or opens connections, sends and receives what is possible. Returns what has arrived.
  virtual std::vector<HeartbeatMessage> exchange() = 0;
  /// Sends to `host`, if there is a connection, and the last messages have gone.
  virtual void send(std::size_t host, HeartbeatMessage::Type type, std::span<const std::byte> bytes) = 0;
  /// Whether a connection with `host` has been open and is no longer.
  virtual bool is_lost(std::size_t host) const = 0;
  virtual bool is_connected(std::size_t host) const = 0;
  /// Appends descriptors and the events at which exchange() has something to do.
  virtual void add_descriptors(std::vector<pollfd>& polled) const = 0;
};

/// Listens on all interfaces for `hosts` - 1 other hosts; `address` is set to what they need. Null if that
/// is not possible.
std::unique_ptr<Heartbeat> listen_for_hosts(std::size_t hosts, HeartbeatAddress& address);
/// Connects host number `host` to host 0, over the first interface that answers.
std::unique_ptr<Heartbeat> connect_to_first_host(std::size_t host, const HeartbeatAddress& address);

}  // namespace lockstep
