#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

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
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  std::uint64_t size() const { return size_; }
  /// Fills `destination` from byte `offset` on. Throws Error(data) where the file ends earlier.
  void read(std::uint64_t offset, std::span<std::byte> destination) const;

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
};

/// All bytes of the file at `path`.
std::vector<std::byte> read_file(const std::filesystem::path& path);

}  // namespace lockstep
