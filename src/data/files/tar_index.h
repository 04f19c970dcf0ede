#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace lockstep {

/// Entry of a tar archive other than a folder.
struct TarEntry {
  std::string name;          ///< as in the archive, in UTF-8
  std::uint64_t offset = 0;  ///< of its first byte in the archive
  std::uint64_t size = 0;
  bool is_file = false;  ///< false: a link, a device or a sparse file, without contents at `offset`
};

/// Bytes of an archive.
struct TarSource {
  std::string name;  ///< for errors
  std::uint64_t size = 0;
  /// Fills the span with the bytes from the given offset on, all within `size`.
  std::function<void(std::uint64_t, std::span<std::byte>)> read;
};

/// Entries of an uncompressed archive (ustar, pax or GNU), in their order. Reads the headers only. Throws
/// Error(data) naming archive and byte for an archive that is compressed, of another format, damaged, cut off
/// (even if only the end marker is missing), or followed by other bytes.
std::vector<TarEntry> list_tar(const TarSource& source);

}  // namespace lockstep
