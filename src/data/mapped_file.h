#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace lockstep {

/// A regular file's bytes, read by the system when they are looked at; ranks of a host share its memory.
class MappedFile {
 public:
  /// Throws Error(data) with path and reason.
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&&) = delete;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace lockstep
