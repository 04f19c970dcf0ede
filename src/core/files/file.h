#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/files/file_system.h"
#include "lockstep/error.h"

namespace lockstep {

/// Result of `call`, repeated while a signal interrupts it (EINTR). `call` returns a negative number, with
/// errno, if it fails.
template <class Call>
auto uninterrupted(const Call& call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

/// Owner of a file descriptor; negative: none. The destructor preserves errno.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  /// Takes ownership of a descriptor that files() did not open: a socket, memory, a kernel file.
  explicit FileDescriptor(int value) : value_(value) {}
  /// Opens a file through files(), which also closes it. On failure, the result owns no descriptor and errno
  /// is set.
  static FileDescriptor open(const std::filesystem::path& path, int flags) {
    return opened(&FileSystem::open, path, flags);
  }
  /// Like open(), but a new file is readable only by users whom the umask lets write to it.
  static FileDescriptor open_private(const std::filesystem::path& path, int flags) {
    return opened(&FileSystem::open_private, path, flags);
  }
  FileDescriptor(FileDescriptor&& other) noexcept : value_(other.release()), origin_(other.origin_) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(value_, other.value_);
    std::swap(origin_, other.origin_);
    return *this;
  }
  ~FileDescriptor() {
    const int before = errno;
    if (value_ >= 0) origin_->close(value_);
    errno = before;
  }

  int get() const { return value_; }
  /// Returns the descriptor without closing it, and owns none afterwards.
  int release() { return std::exchange(value_, -1); }

 private:
  static FileDescriptor opened(int (FileSystem::*call)(const std::filesystem::path&, int),
                               const std::filesystem::path& path, int flags) {
    FileDescriptor file;
    file.origin_ = &files();
    file.value_ = uninterrupted([&] { return (file.origin_->*call)(path, flags); });
    return file;
  }

  int value_ = -1;
  FileSystem* origin_ = &system_files();
};

/// Writes all `bytes`. On failure returns false with errno, after writing some of them.
bool write_fully(const FileDescriptor& file, std::span<const std::byte> bytes);

/// Category of a failure to open or read a file with errno `reason`: data if the file is at fault, resource
/// if the machine is (no descriptors, no memory, a failing disk).
Category category_of_failure(int reason);

/// Error of a failed file system call.
class FileError : public Error {
 public:
  /// `reason`: errno of the call.
  FileError(Category category, std::string message, int reason)
      : Error(category, std::move(message)), reason_(reason) {}

  /// Whether the disk is full, or the user's share of it.
  bool lacks_room() const { return reason_ == ENOSPC || reason_ == EDQUOT; }
  /// Whether this user lacks the permission.
  bool is_denied() const { return reason_ == EACCES || reason_ == EPERM; }

 private:
  int reason_;
};

/// Throws FileError with "PATH: cannot ACTION: REASON", where REASON describes errno.
[[noreturn]] void fail_file(const std::filesystem::path& path, const std::string& action,
                            Category category = Category::resource);

/// Throws Error(category) with "PATH: REASON".
[[noreturn]] void refuse_file(const std::filesystem::path& path, const std::string& reason,
                              Category category = Category::data);

/// A regular file, open for reading. Errors contain the path, the failed action and the system's reason;
/// their category is that of category_of_failure. `read` is safe from any thread.
class InputFile {
 public:
  explicit InputFile(const std::filesystem::path& path);

  std::uint64_t size() const { return size_; }
  /// Fills `destination` with the bytes from `offset` on. Throws Error(data) if the file ends earlier.
  void read(std::uint64_t offset, std::span<std::byte> destination) const;
  std::vector<std::byte> read_all() const;

 private:
  std::filesystem::path path_;
  FileDescriptor descriptor_;
  std::uint64_t size_ = 0;
};

/// Ensures that this process can open `more` additional files, sockets and other descriptors: raises its soft
/// limit if needed, with a few to spare if the hard limit allows. Throws Error(resource) with the numbers if
/// the hard limit is too low. `user`: what needs the descriptors, for the message.
void reserve_open_files(std::size_t more, const std::string& user);

/// All bytes of the file at `path`. Throws as InputFile does.
std::vector<std::byte> read_file(const std::filesystem::path& path);

/// The first `max_bytes` bytes of a file, pipe or device. Throws as InputFile does.
std::string read_text(const std::filesystem::path& path, std::size_t max_bytes);

/// Removes a file or symbolic link, if it exists. Throws Error(resource) with path and reason.
void remove_file(const std::filesystem::path& path);

/// Truncates a file to zero bytes, if it exists. Throws as remove_file does.
void empty_file(const std::filesystem::path& path);

}  // namespace lockstep
