#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

namespace lockstep {

/// A file that may be gzip-compressed (by its first bytes, not its name). Its unpacked size is known
/// without reading it, so that it can be unpacked straight into its final place. All errors: Error(data).
class PackedFile {
 public:
  /// Looks at the file's size and its first and last bytes. Refuses more than 1 GiB unpacked: memory is
  /// taken before the file's own header can be checked. A gzip file of several members, whose end does not
  /// tell the size, fails in unpack().
  explicit PackedFile(const std::filesystem::path& path);

  std::size_t size() const { return size_; }
  bool compressed() const { return compressed_; }
  std::string name() const { return path_.string(); }
  /// Fills `destination`, of size() bytes.
  void unpack(std::span<std::byte> destination) const;

 private:
  std::filesystem::path path_;
  std::size_t size_ = 0;
  bool compressed_ = false;
};

/// Bytes of all `files` together, unpacked.
std::size_t unpacked_size(std::span<const PackedFile> files);
/// Unpacks the files one after the other into `destination`, which has unpacked_size(files) bytes.
void unpack(std::span<const PackedFile> files, std::span<std::byte> destination);

}  // namespace lockstep
