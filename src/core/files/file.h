#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "core/files/file_descriptor.h"
#include "lockstep/error.h"

namespace lockstep {

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
