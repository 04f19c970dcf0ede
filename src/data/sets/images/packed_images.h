#pragma once

#include <filesystem>
#include <string>

#include "lockstep/dataset.h"

namespace lockstep {

/// Whether `folder` contains training images packed by `lockstep data pack`.
bool has_packed_images(const std::filesystem::path& folder);

/// Opens a part. Reads the index only; samples are read and their checksums verified on request. Throws
/// Error(data) for a bad index and for shards that are missing or too short.
std::unique_ptr<Dataset> open_packed_images(const std::filesystem::path& folder, const std::string& part,
                                            Shape shape);

}  // namespace lockstep
