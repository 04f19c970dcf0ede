#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "data/sets/images/image_list.h"

namespace lockstep {

/// Lists the image files of a folder. `classes`: allowed classes; if empty, all folders in `folder` are
/// classes, ascending. Throws Error(data) for a folder that is missing or has no classes, and for a class
/// that has no images, is not allowed, or has control characters in its name.
ImageList list_images(const std::filesystem::path& folder, const std::vector<std::string>& classes = {});

/// Whether a folder, or a folder in it, contains images; false if they cannot be listed.
bool holds_images(const std::filesystem::path& folder);

/// Advice at the end of a message about an entry whose name is almost the name of a part ("Test",
/// "training"); empty for other names.
std::string part_name_advice(std::string name);

}  // namespace lockstep
