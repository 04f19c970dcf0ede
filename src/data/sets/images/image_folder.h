#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "data/sets/images/image_list.h"
#include "lockstep/dataset.h"

namespace lockstep {

/// Lists the image files of a folder. `classes`: allowed classes; empty: all folders, ascending. Throws
/// Error(data) for a folder that is missing or has no classes, and for a class that has no images, is not
/// allowed, or has control characters in its name.
ImageList list_images(const std::filesystem::path& folder, const std::vector<std::string>& classes = {});

/// Data set of the files of a folder, which are read when samples are requested.
std::unique_ptr<Dataset> make_image_folder(ImageList list, Shape shape);

}  // namespace lockstep
