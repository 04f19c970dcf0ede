#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "data/sets/images/image_list.h"

namespace lockstep {

/// Lists the image files of a folder. `classes`: allowed classes; empty: all folders, ascending. Throws
/// Error(data) for a folder that is missing or has no classes, and for a class that has no images, is not
/// allowed, or has control characters in its name.
ImageList list_images(const std::filesystem::path& folder, const std::vector<std::string>& classes = {});

/// Whether a folder, or a folder in it, has images; false if that cannot be found out.
bool holds_images(const std::filesystem::path& folder);

/// End of a message about an entry that is called as a part is, but in capitals or with another ending
/// ("Test", "training"); empty: it has another name.
std::string part_name_advice(std::string name);

}  // namespace lockstep
