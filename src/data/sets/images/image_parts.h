#pragma once

#include <filesystem>

#include "data/sets/images/image_folder.h"

namespace lockstep {

/// Image files of a data set.
struct ImageParts {
  ImageList train;
  ImageList test;
};

/// Lists FOLDER/train/CLASS/ and FOLDER/test/CLASS/ (or val, validation). Without a test folder, holds out
/// `test_fraction` of the files of FOLDER/train/CLASS/, or of FOLDER/CLASS/ without a folder train. Throws
/// Error(usage) if the fraction is missing or has no effect, Error(data) as list_images, for a single class,
/// and if a class has no training images or there are no test images.
ImageParts list_image_parts(const std::filesystem::path& folder, double test_fraction);

/// Moves the files whose hash of CLASS/NAME, in [0, 1), is below `fraction` to a second list. The choice does
/// not depend on other files.
ImageList split_off_test_images(ImageList& list, double fraction);

}  // namespace lockstep
