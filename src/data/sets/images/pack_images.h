#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "data/sets/images/image_list.h"

namespace lockstep {

struct PackOptions {
  int size = 256;    ///< maximum length of the shorter side, in pixels; smaller images are copied
  int quality = 90;  ///< quality of the JPEG files, 1 to 100
  std::uint64_t shard_bytes = 1'000'000'000;  ///< minimum size of all shards but the last
  bool strict = false;                        ///< whether the first file that cannot be read is an error
  /// Called with a line for each file that cannot be read.
  std::function<void(const std::string&)> on_bad_file = {};
};

struct PackResult {
  std::uint64_t packed = 0;
  std::uint64_t bad = 0;
  std::uint64_t bytes = 0;
  std::uint32_t shards = 0;
};

/// Removes a part's index and shards from `folder`, if there are any. Throws Error(resource).
void remove_packed_images(const std::filesystem::path& folder, const std::string& part);

/// Writes the images of `list` to `folder` as part `part`: first shards, then the index, which appears
/// atomically. Then removes remaining shards of an earlier packing. Throws Error(resource) for a file that
/// cannot be written, and Error(data) if no image can be read; after an error, there is no index.
PackResult pack_images(const ImageList& list, const std::filesystem::path& folder, const std::string& part,
                       const PackOptions& options);

}  // namespace lockstep
