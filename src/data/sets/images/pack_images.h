#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "data/sets/images/image_folder.h"

namespace lockstep {

struct PackOptions {
  int size = 256;                             ///< shorter side; smaller images stay as they are
  int quality = 90;                           ///< of the JPEG files, 1 to 100
  std::uint64_t shard_bytes = 1'000'000'000;  ///< a shard ends when it has this many
  bool strict = false;                        ///< the first file that cannot be read is an error
  std::function<void(const std::string&)> on_bad_file = {};  ///< called with a line that names it
};

struct PackResult {
  std::uint64_t packed = 0;
  std::uint64_t bad = 0;
  std::uint64_t bytes = 0;
  std::uint32_t shards = 0;
};

/// Writes the images of `list` into `folder` as part `part`: shards, then the index, under its name only when
/// it is complete; shards of an earlier packing that are left over are removed. Throws Error(resource) for
/// what cannot be written, Error(data) when no image is readable.
PackResult pack_images(const ImageList& list, const std::filesystem::path& folder, const std::string& part,
                       const PackOptions& options);

}  // namespace lockstep
