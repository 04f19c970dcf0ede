#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/clock.h"
#include "core/files/file.h"
#include "watch/heartbeat.h"

namespace lockstep {

/// Connection over a non-blocking socket between two ends that know the same key. Each message has an
/// HMAC-SHA256 of its content, its sender, its number, and a random challenge of each end. Without the key,
/// nobody can open a connection, change, repeat or insert a message, or learn the key.
class AuthenticatedConnection {
 public:
  /// Size of the header of a message.
  static constexpr std::size_t prefix_bytes = 40;

  /// Makes the end that accepted `socket`.
  AuthenticatedConnection(FileDescriptor socket, const HeartbeatKey& key);
  /// Makes the end that connects, on host number `host`.
  AuthenticatedConnection(FileDescriptor socket, const HeartbeatKey& key, std::size_t host);

  /// For poll(): readiness for reading and, while bytes are left to send, for writing.
  pollfd events() const;
  bool is_open() const { return open_; }
  void close() { open_ = false; }
  /// Time of construction, as steady_seconds().
  double since() const { return since_; }
  /// Whether the other end has proved that it knows the key.
  bool is_authenticated() const { return state_ == State::authenticated; }
  /// Number of the host that connects; known when authenticated.
  std::size_t host() const { return host_; }

  /// Sends a message, or drops it if an earlier one is not completely sent because the other end does not
  /// read.
  void send(HeartbeatMessage::Type type, std::span<const std::byte> bytes);
  void flush();
  /// Returns messages that have arrived completely; the first of a connection has type `opened`. Buffers at
  /// most about 100 bytes from an end that is not authenticated.
  std::vector<HeartbeatMessage> receive();

 private:
  using Challenge = std::array<std::byte, 16>;
  using Code = std::array<std::byte, 32>;
  enum class State { expects_hello, expects_challenge, expects_proof, authenticated };
  struct Prefix {
    HeartbeatMessage::Type type;
    std::uint32_t bytes;
    Code code;
  };
  struct Hello {
    std::uint64_t host;
    Challenge challenge;
  };
  static_assert(sizeof(Prefix) == prefix_bytes);

  std::size_t limit() const;
  Code code_of(bool connector, std::uint64_t number, HeartbeatMessage::Type type,
               std::span<const std::byte> bytes) const;
  void take_messages(std::vector<HeartbeatMessage>& messages);
  void take(HeartbeatMessage message, std::vector<HeartbeatMessage>& messages);
  Challenge make_challenge();

  FileDescriptor socket_;
  HeartbeatKey key_;
  double since_ = steady_seconds();
  bool connects_;  ///< whether this end connected
  State state_;
  bool open_ = true;
  std::uint64_t host_ = 0;
  Challenge connector_challenge_{}, listener_challenge_{};  ///< zero until both ends know them
  std::uint64_t sent_ = 0, received_ = 0;                   ///< number of messages
  std::vector<std::byte> leaving_, arrived_;
};

}  // namespace lockstep
