#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

namespace lockstep {

/// A file that may be gzip-compressed, which is detected by the file's first bytes. The unpacked size is
/// known before the file is read, so the file can be unpacked directly to its destination. Throws
/// Error(data).
class PackedFile {
 public:
  /// Reads the file's size and its first and last bytes. Refuses more than 1 GiB unpacked, because memory is
  /// allocated before the header of the unpacked file can be checked. unpack() fails for a gzip file of
  /// several members, because its last bytes do not hold the total size.
  explicit PackedFile(const std::filesystem::path& path);

  std::size_t size() const { return size_; }
  bool compressed() const { return compressed_; }
  std::string name() const { return path_.string(); }
  /// Fills `destination`, which has size() bytes.
  void unpack(std::span<std::byte> destination) const;

 private:
  std::filesystem::path path_;
  std::size_t size_ = 0;
  bool compressed_ = false;
};

}  // namespace lockstep
