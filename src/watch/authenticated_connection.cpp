#include "watch/authenticated_connection.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

namespace lockstep {
namespace {

using Type = HeartbeatMessage::Type;

constexpr std::size_t largest_message = 16 << 20;  // bytes; this program sends no larger ones

template <class T>
std::span<const std::byte> bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

}  // namespace

AuthenticatedConnection::AuthenticatedConnection(FileDescriptor socket, const HeartbeatKey& key)
    : socket_(std::move(socket)), key_(key), connects_(false), state_(State::expects_hello) {}

AuthenticatedConnection::AuthenticatedConnection(FileDescriptor socket, const HeartbeatKey& key,
                                                 std::size_t host)
    : socket_(std::move(socket)), key_(key), connects_(true), state_(State::expects_challenge), host_(host) {
  const Hello hello{.host = host_, .challenge = make_challenge()};
  send(Type::hello, bytes_of(hello));
  connector_challenge_ = hello.challenge;
}

pollfd AuthenticatedConnection::events() const {
  return {.fd = socket_.get(),
          .events = static_cast<short>(leaving_.empty() ? POLLIN : POLLIN | POLLOUT),
          .revents = 0};
}

std::size_t AuthenticatedConnection::limit() const {
  return is_authenticated() ? largest_message : sizeof(Hello);
}

AuthenticatedConnection::Challenge AuthenticatedConnection::make_challenge() {
  Challenge challenge{};
  if (getrandom(challenge.data(), challenge.size(), 0) != static_cast<ssize_t>(challenge.size())) close();
  return challenge;
}

AuthenticatedConnection::Code AuthenticatedConnection::code_of(bool connector, std::uint64_t number,
                                                               Type type,
                                                               std::span<const std::byte> bytes) const {
  std::string text;
  const auto add = [&](std::span<const std::byte> part) {
    text.append(reinterpret_cast<const char*>(part.data()), part.size());
  };
  add(bytes_of(connector));
  add(bytes_of(number));
  add(connector_challenge_);
  add(listener_challenge_);
  add(bytes_of(type));
  add(bytes);
  Code code{};
  unsigned length = 0;
  HMAC(EVP_sha256(), key_.data(), static_cast<int>(key_.size()),
       reinterpret_cast<const unsigned char*>(text.data()), text.size(),
       reinterpret_cast<unsigned char*>(code.data()), &length);
  return code;
}

void AuthenticatedConnection::send(Type type, std::span<const std::byte> bytes) {
  if (!open_ || !leaving_.empty()) return;
  const Prefix prefix{type, static_cast<std::uint32_t>(bytes.size()),
                      code_of(connects_, sent_++, type, bytes)};
  leaving_.resize(sizeof prefix + bytes.size());
  std::memcpy(leaving_.data(), &prefix, sizeof prefix);
  if (!bytes.empty()) std::memcpy(leaving_.data() + sizeof prefix, bytes.data(), bytes.size());
  flush();
}

void AuthenticatedConnection::flush() {
  while (open_ && !leaving_.empty()) {
    const ssize_t sent = ::send(socket_.get(), leaving_.data(), leaving_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) {
      if (errno != EAGAIN && errno != EINTR && errno != ENOTCONN) open_ = false;
      return;
    }
    leaving_.erase(leaving_.begin(), leaving_.begin() + sent);
  }
}

std::vector<HeartbeatMessage> AuthenticatedConnection::receive() {
  std::vector<HeartbeatMessage> messages;
  std::array<std::byte, 16384> part;
  while (open_) {
    const std::size_t room = sizeof(Prefix) + limit() - arrived_.size();
    const ssize_t length = ::recv(socket_.get(), part.data(), std::min(room, part.size()), MSG_DONTWAIT);
    if (length < 0 && (errno == EAGAIN || errno == EINTR || errno == ENOTCONN)) break;
    if (length <= 0) {
      open_ = false;
      break;
    }
    arrived_.insert(arrived_.end(), part.begin(), part.begin() + length);
    take_messages(messages);
  }
  return messages;
}

/// Removes complete messages from the received bytes, which leaves room for another one.
void AuthenticatedConnection::take_messages(std::vector<HeartbeatMessage>& messages) {
  std::size_t begin = 0;
  while (open_ && arrived_.size() - begin >= sizeof(Prefix)) {
    Prefix prefix{};
    std::memcpy(&prefix, arrived_.data() + begin, sizeof prefix);
    if (prefix.bytes > limit()) close();
    if (arrived_.size() - begin - sizeof prefix < prefix.bytes) break;
    const auto content = std::span(arrived_).subspan(begin + sizeof prefix, prefix.bytes);
    const Code code = code_of(!connects_, received_++, prefix.type, content);
    if (CRYPTO_memcmp(code.data(), prefix.code.data(), code.size()) != 0) close();
    if (open_) take({prefix.type, connects_ ? 0 : host_, {content.begin(), content.end()}}, messages);
    begin += sizeof prefix + prefix.bytes;
  }
  arrived_.erase(arrived_.begin(), arrived_.begin() + static_cast<std::ptrdiff_t>(begin));
}

/// Handles a message. The connection opens with three: the connector sends a hello with its challenge, the
/// listener sends its challenge, and the connector proves that it received the listener's challenge.
void AuthenticatedConnection::take(HeartbeatMessage message, std::vector<HeartbeatMessage>& messages) {
  const auto read = [&](auto& value) {
    if (message.bytes.size() != sizeof value) return false;
    std::memcpy(&value, message.bytes.data(), sizeof value);
    return true;
  };
  switch (state_) {
    case State::expects_hello: {
      Hello hello{};
      if (!read(hello)) return close();
      host_ = hello.host;
      connector_challenge_ = hello.challenge;
      const Challenge challenge = make_challenge();
      send(Type::hello, challenge);
      listener_challenge_ = challenge;
      state_ = State::expects_proof;
      break;
    }
    case State::expects_challenge:
      if (!read(listener_challenge_)) return close();
      state_ = State::authenticated;
      send(Type::opened, {});
      messages.push_back({.type = Type::opened});
      break;
    case State::expects_proof:
      state_ = State::authenticated;
      messages.push_back({.type = Type::opened, .host = host_});
      break;
    case State::authenticated:
      messages.push_back(std::move(message));
      break;
  }
}

}  // namespace lockstep
