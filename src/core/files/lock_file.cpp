#include "core/files/lock_file.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <chrono>
#include <optional>
#include <span>
#include <system_error>
#include <thread>
#include <utility>

#include "core/files/folder.h"
#include "core/text/message.h"
#include "core/text/printable.h"

namespace lockstep {
namespace {

constexpr std::chrono::milliseconds between_attempts(50);
constexpr std::chrono::seconds silent_wait(5);

/// Whether errno `reason` of a failed lock means that the file system has no locks.
bool is_unsupported(int reason) {
  return reason == ENOLCK || reason == ENOSYS || reason == EOPNOTSUPP || reason == EINVAL;
}

/// Whether `path` still leads to this open file. The lock's holder may have removed it, and another process
/// may have created a new one.
bool is_linked(const FileDescriptor& file, const std::filesystem::path& path) {
  FileStatus own, linked;
  if (files().fstat(file.get(), own) != 0) fail_file(path, "look at it");
  if (files().stat(path, linked) != 0) {
    if (errno != ENOENT) fail_file(path, "look at it");
    return false;
  }
  return own.is_same_file(linked);
}

/// Text that the holder of the lock has written to the file.
std::string read_holder(const FileDescriptor& file) {
  constexpr std::size_t max_bytes = 300;
  std::string text(max_bytes, '\0');
  const ssize_t count = files().pread(file.get(), text.data(), text.size(), 0);
  text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  return text.empty() ? "another process" : printable(text);
}

}  // namespace

LockFile::LockFile(const std::filesystem::path& path, const std::string& holder, double seconds,
                   Category in_use)
    : path_(path), holder_(holder) {
  const auto start = std::chrono::steady_clock::now();
  bool warned = false;
  while (const std::optional<std::string> other = try_to_lock()) {
    const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - start;
    if (waited.count() >= seconds) {
      throw Error(in_use, *other + ": wait for its end, or choose another directory");
    }
    if (waited > silent_wait && !std::exchange(warned, true)) {
      print_warning(fmt::format("{}: waiting for its end for up to {} s", *other, seconds));
    }
    std::this_thread::sleep_for(between_attempts);
  }
  write_holder();
}

LockFile::~LockFile() {
  if (file_.get() >= 0 && !lost_) files().unlink(path_);
}

void LockFile::renew() {
  if (file_.get() < 0) return;
  try {
    if (!lost_ && is_linked(file_, path_)) return;
  } catch (const Error&) {
    return;  // the next write to the folder reports the reason
  }
  lost_ = true;
  if (const std::optional<std::string> other = try_to_lock())
    throw Error(Category::resource, *other + ", as its file 'lock' was removed");
  lost_ = false;
  write_holder();
}

void LockFile::write_holder() const {
  if (file_.get() < 0) return;
  const bool written = uninterrupted([this] { return files().ftruncate(file_.get(), 0); }) == 0 &&
                       write_fully(file_, std::as_bytes(std::span(holder_)));
  if (!written) fail_file(path_, "write");
}

/// If another process holds the lock, returns "FOLDER is in use by HOLDER". Otherwise locks the file and sets
/// `file_`, or clears it if the file system has no locks. If this throws, `file_` is unchanged.
std::optional<std::string> LockFile::try_to_lock() {
  FileDescriptor file;
  do {
    // The file is private because users who may read it could lock it. Links are refused because another user
    // could plant one to make this user write to another file.
    file = FileDescriptor::open_private(path_, O_RDWR | O_CREAT | O_NOFOLLOW);
    if (file.get() < 0) fail_file(path_, errno == ELOOP ? "open: it is a symbolic link" : "open");
    if (uninterrupted([&] { return files().lock(file.get()); }) == 0) continue;
    const int reason = errno;
    if (reason == EWOULDBLOCK)
      return fmt::format("{} is in use by {}", folder_of(path_).string(), read_holder(file));
    if (!is_unsupported(reason)) fail_file(path_, "lock");
    print_warning(fmt::format("{}: cannot lock: {}; make sure that no other run writes to this directory",
                              path_.string(), std::generic_category().message(reason)));
    file_ = {};
    return std::nullopt;
  } while (!is_linked(file, path_));
  file_ = std::move(file);
  return std::nullopt;
}

}  // namespace lockstep
