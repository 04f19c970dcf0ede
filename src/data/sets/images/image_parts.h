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

/// Lists the images of a data set. `place` is a folder, an archive, or a pattern for several archives
/// (data/files/number_pattern.h). The parts of a folder are FOLDER/train/CLASS/, val/CLASS/ (or valid,
/// validation) and test/CLASS/, or the archives train*.tar, val*.tar and test*.tar; a folder without parts
/// contains FOLDER/CLASS/. Without a test part, holds out `test_fraction` of the training images. Throws
/// Error(usage) if the fraction has no effect; Error(data) like list_images and list_tar_images, and if the
/// fraction leaves nothing to test. For training, also throws Error(usage) if there is neither a test nor a
/// validation part, and Error(data) for a single class.
ImageParts list_image_parts(const std::filesystem::path& place, double test_fraction,
                            DataUse use = DataUse::training);

/// Moves `fraction` of the files of each class to a second list (data/sets/held_out.h). Keys are hashes of
/// CLASS/NAME, without other folders. Throws Error(data) if the second list would be empty.
ImageList split_off_test_images(ImageList& list, double fraction, DataUse use);

/// Folder of a part in `folder`, or the part's first archive; empty if `folder` or the part does not exist.
std::filesystem::path find_image_part(const std::filesystem::path& folder, Part part);

}  // namespace lockstep
