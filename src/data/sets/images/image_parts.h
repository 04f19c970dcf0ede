#pragma once

#include <filesystem>
#include <optional>

#include "data/sets/images/image_list.h"
#include "data/sets/parts.h"

namespace lockstep {

/// Image files of a data set.
struct ImageParts {
  ImageList train;
  std::optional<ImageList> validation;
  std::optional<ImageList> test;
  std::string validation_origin = {};  ///< place of the validation part
  std::string test_origin = {};        ///< place of the test part, or the fraction that was held out
};

/// Lists the images of a data set. `place` is a folder: its parts are FOLDER/train/CLASS/, val/CLASS/ (or
/// valid, validation) and test/CLASS/, or the archives train*.tar, val*.tar and test*.tar; a folder without
/// them contains FOLDER/CLASS/. Otherwise it is an archive, or a pattern of several (data/files/
/// number_pattern.h). Without a test part, holds out `test_fraction` of the training images. Throws
/// Error(usage) if the fraction has no effect; Error(data) as list_images and list_tar_images, and if the
/// fraction leaves nothing to test. For training, also Error(usage) if there is neither a test nor a
/// validation part, and Error(data) for a single class.
ImageParts list_image_parts(const std::filesystem::path& place, double test_fraction,
                            DataUse use = DataUse::training);

/// Moves `fraction` of the files of each class to a second list (data/sets/held_out.h). Keys are hashes of
/// CLASS/NAME, without other folders. Throws Error(data) if that leaves nothing to test.
ImageList split_off_test_images(ImageList& list, double fraction, DataUse use);

/// Folder of a part in `folder`, or its first archive. Empty: there is none, or no such folder.
std::filesystem::path find_image_part(const std::filesystem::path& folder, Part part);

}  // namespace lockstep
