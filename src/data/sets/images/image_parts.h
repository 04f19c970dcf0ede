#pragma once

#include <filesystem>

#include "data/sets/images/image_folder.h"

namespace lockstep {

/// The image files of a data set.
struct ImageParts {
  ImageList train;
  ImageList test;
};

/// Lists FOLDER/train/CLASS/ and FOLDER/test/CLASS/ (or val, validation). Without a folder for testing,
/// divides FOLDER/train/CLASS/, or FOLDER/CLASS/ where there is no train either: `test_fraction` of the files
/// is held out. Throws Error(usage) for a fraction that is missing or has no use, Error(data) for what
/// list_images refuses, a single class, and a fraction that leaves a class without training images, or none
/// to test.
ImageParts list_image_parts(const std::filesystem::path& folder, double test_fraction);

/// Moves those files to a second list whose hash of CLASS/NAME, as a number in [0, 1), is below `fraction`:
/// the same ones whatever other files there are.
ImageList split_off_test_images(ImageList& list, double fraction);

}  // namespace lockstep
