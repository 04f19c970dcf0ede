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

/// A descriptor of the system, closed at the end of the scope; negative: none.
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
  /// Gives it up without closing it.
  int release() { return std::exchange(value_, -1); }

 private:
  int value_ = -1;
};

/// What the system's `reason` (errno) for not opening or reading a file says: data where the file is at
/// fault, resource where the machine is (no descriptors, no memory, a failing disk), which may pass.
Category category_of_failure(int reason);

/// A regular file, open for reading. Errors, of category_of_failure: path, what was tried, the system's
/// reason.
class InputFile {
 public:
  explicit InputFile(const std::filesystem::path& path);

  std::uint64_t size() const { return size_; }
  /// Fills `destination` from byte `offset` on. Throws Error(data) where the file ends earlier.
  void read(std::uint64_t offset, std::span<std::byte> destination) const;

 private:
  std::filesystem::path path_;
  FileDescriptor descriptor_;
  std::uint64_t size_ = 0;
};

/// Lets this process have so many files open at once, as far as its hard limit allows.
void allow_open_files(std::size_t count);

/// All bytes of the file at `path`.
std::vector<std::byte> read_file(const std::filesystem::path& path);

}  // namespace lockstep
