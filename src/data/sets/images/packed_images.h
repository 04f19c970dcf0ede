#pragma once

#include <filesystem>
#include <string>

#include "lockstep/dataset.h"

namespace lockstep {

/// Whether `folder` holds the part "train" or "test" as `lockstep data pack` writes it.
bool has_packed_images(const std::filesystem::path& folder, const std::string& part);

/// Opens it. Nothing is read ahead; each sample's checksum is compared when it is asked for. Throws
/// Error(data) for a bad index, and for shards that are missing or too short.
std::unique_ptr<Dataset> open_packed_images(const std::filesystem::path& folder, const std::string& part,
                                            Shape shape);

}  // namespace lockstep
