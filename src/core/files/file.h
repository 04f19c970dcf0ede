#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <utility>
#include <vector>

#include "lockstep/error.h"

namespace lockstep {

/// Owner of a file descriptor; negative: none.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int value) : value_(value) {}
  FileDescriptor(FileDescriptor&& other) noexcept : value_(other.release()) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }
  ~FileDescriptor() {
    if (value_ >= 0) ::close(value_);
  }

  int get() const { return value_; }
  /// Returns the descriptor without closing it, and owns none afterwards.
  int release() { return std::exchange(value_, -1); }

 private:
  int value_ = -1;
};

/// Category of a failure to open or read a file with errno `reason`: data if the file is at fault, resource
/// if the machine is (no descriptors, no memory, a failing disk).
Category category_of_failure(int reason);

/// A regular file, open for reading. Errors have path, failed action and the system's reason, and the
/// category of category_of_failure. `read` is safe from any thread.
class InputFile {
 public:
  explicit InputFile(const std::filesystem::path& path);

  std::uint64_t size() const { return size_; }
  /// Fills `destination` with the bytes from `offset` on. Throws Error(data) if the file ends earlier.
  void read(std::uint64_t offset, std::span<std::byte> destination) const;

 private:
  std::filesystem::path path_;
  FileDescriptor descriptor_;
  std::uint64_t size_ = 0;
};

/// Raises the number of files that this process may have open to `count`, or to its hard limit.
void allow_open_files(std::size_t count);

/// All bytes of the file at `path`.
std::vector<std::byte> read_file(const std::filesystem::path& path);

}  // namespace lockstep
