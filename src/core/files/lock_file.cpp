#include "core/files/lock_file.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <chrono>
#include <span>
#include <system_error>
#include <thread>
#include <utility>

#include "core/files/folder.h"
#include "core/message.h"
#include "core/printable.h"

namespace lockstep {
namespace {

constexpr std::chrono::milliseconds between_attempts(50);
constexpr std::chrono::seconds silent_wait(5);

[[noreturn]] void fail(const std::filesystem::path& path, const char* action) {
  throw Error(Category::resource, fmt::format("{}: cannot {}: {}", path.string(), action,
                                              std::generic_category().message(errno)));
}

/// Whether a file system that fails to lock with errno `reason` has no locks.
bool is_unsupported(int reason) {
  return reason == ENOLCK || reason == ENOSYS || reason == EOPNOTSUPP || reason == EINVAL;
}

/// Whether `path` still leads to an open file. Its holder may have removed it, and another process may have
/// made a new one.
bool is_linked(const FileDescriptor& file, const std::filesystem::path& path) {
  FileStatus own, linked;
  if (files().fstat(file.get(), own) != 0) fail(path, "look at it");
  if (files().stat(path, linked) != 0) {
    if (errno != ENOENT) fail(path, "look at it");
    return false;
  }
  return own.device == linked.device && own.inode == linked.inode;
}

}  // namespace

LockFile::LockFile(const std::filesystem::path& path, const std::string& holder, double seconds)
    : path_(path) {
  const auto start = std::chrono::steady_clock::now();
  bool told = false;
  while (!try_to_lock()) {
    const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - start;
    const std::string other = fmt::format("{} is in use by {}", folder_of(path).string(), read_holder());
    if (waited.count() >= seconds) {
      throw Error(Category::resource, other + ": wait for its end, or choose another directory");
    }
    if (waited > silent_wait && !std::exchange(told, true)) {
      print_warning(fmt::format("{}: waiting for its end for up to {} s", other, seconds));
    }
    std::this_thread::sleep_for(between_attempts);
  }
  if (file_.get() < 0) return;
  const bool written =
      files().ftruncate(file_.get(), 0) == 0 && write_fully(file_, std::as_bytes(std::span(holder)));
  if (!written) fail(path, "write");
}

LockFile::~LockFile() {
  if (file_.get() >= 0) files().unlink(path_);
}

/// Returns false if another process has the lock. Leaves no file if there are no locks.
bool LockFile::try_to_lock() {
  do {
    file_ = FileDescriptor::open(path_, O_RDWR | O_CREAT);
    if (file_.get() < 0) fail(path_, "open");
    if (retry_interrupted([this] { return files().lock(file_.get()); })) continue;
    const int reason = errno;
    if (reason == EWOULDBLOCK) return false;
    if (!is_unsupported(reason)) fail(path_, "lock");
    print_warning(fmt::format("{}: cannot lock: {}; make sure that no other run writes to this directory",
                              path_.string(), std::generic_category().message(reason)));
    file_ = {};
    return true;
  } while (!is_linked(file_, path_));
  return true;
}

/// Text that the process which has the lock has written to the file.
std::string LockFile::read_holder() const {
  constexpr std::size_t max_bytes = 300;
  std::string text(max_bytes, '\0');
  const ssize_t count = files().pread(file_.get(), text.data(), text.size(), 0);
  text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  return text.empty() ? "another process" : printable(text);
}

}  // namespace lockstep
