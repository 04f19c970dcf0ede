#include "processes/relay.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "core/background.h"
#include "core/text/message.h"
#include "lockstep/error.h"

namespace lockstep::launcher {
namespace {

/// Longer lines are cut for `on_line`: they are not error messages of lockstep.
constexpr std::size_t longest_line = 4096;

/// The part of `bytes` to write at once, which does not block after wait_for_reader: whole lines if possible.
std::string_view next_piece(std::string_view bytes) {
  constexpr std::size_t most = 4096;
  if (bytes.size() <= most) return bytes;
  const std::size_t end = bytes.substr(0, most).rfind('\n');
  return bytes.substr(0, end == std::string_view::npos ? most : end + 1);
}

}  // namespace

Relay::Relay(int target, std::function<void(std::string_view)> on_line, std::string before,
             MarkedLines marked)
    : target_(target), on_line_(std::move(on_line)), before_(std::move(before)), marked_(std::move(marked)) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    throw Error(Category::resource, std::string("cannot make a pipe: ") + std::strerror(errno));
  }
  output_ = FileDescriptor(ends[0]);
  input_ = FileDescriptor(ends[1]);
  ended_ = FileDescriptor(eventfd(0, EFD_CLOEXEC));
}

Relay::~Relay() {
  input_ = {};
  if (thread_.joinable()) thread_.join();
}

void Relay::start() {
  input_ = {};
  thread_ = start_thread([this] { copy(); });
}

void Relay::copy() {
  std::array<char, 1 << 16> bytes;
  while (true) {
    const ssize_t length = read(output_.get(), bytes.data(), bytes.size());
    if (length < 0 && errno == EINTR) continue;
    if (length <= 0) break;
    pass_on(marked_.pass({bytes.data(), static_cast<std::size_t>(length)}));
  }
  pass_on(marked_.rest());
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(ended_.get(), &one, sizeof one);
}

void Relay::pass_on(const std::string& bytes) {
  if (bytes.empty()) return;
  if (on_line_) find_lines(bytes);
  // Written as one string, so that output of another stream cannot come in between.
  if (failure_ == 0) write_out(within_line_ ? bytes : before_ + bytes);
  within_line_ = bytes.back() != '\n';
}

void Relay::write_out(std::string_view bytes) {
  while (!bytes.empty()) {
    if (!wait_for_reader(target_)) {
      failure_ = EPIPE;
      return;
    }
    const std::string_view piece = next_piece(bytes);
    const ssize_t length = write(target_, piece.data(), piece.size());
    if (length > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(length));
    } else if (errno != EINTR && errno != EAGAIN) {
      failure_ = errno;
      return;
    }
  }
}

void Relay::find_lines(std::string_view bytes) {
  for (const char c : bytes) {
    if (c == '\n' || c == '\r') {
      if (!line_.empty()) on_line_(line_);
      line_.clear();
    } else if (line_.size() < longest_line) {
      line_ += c;
    }
  }
}

}  // namespace lockstep::launcher
