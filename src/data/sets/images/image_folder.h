#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "lockstep/dataset.h"

namespace lockstep {

/// Image files of one part of a data set, in folders named after their classes: FOLDER/CLASS/NAME.jpg.
struct ImageList {
  struct File {
    std::string name;  ///< CLASS/NAME.jpg
    int label = 0;
  };
  std::filesystem::path folder = {};
  std::vector<std::string> classes = {};
  std::vector<File> files = {};     ///< by class, then by name
  std::uint64_t skipped_files = 0;  ///< entries that are no class, or in a class no image; not hidden ones
  std::string first_skipped_file = {};  ///< without FOLDER
};

/// Lists the files with the extensions jpg, jpeg and png, in upper or lower case. `classes` empty: the names
/// of all folders, ascending; else those that are allowed. Throws Error(data) for a folder that is missing,
/// holds no classes, a class without images, one that is not in `classes`, or one with control characters in
/// its name, which an index of packed images has no place for.
ImageList list_images(const std::filesystem::path& folder, const std::vector<std::string>& classes = {});

/// Line of a warning about the entries that were skipped; empty: there are none.
std::string skipped_files_text(const ImageList& list);

/// Throws Error(data) naming `place` where there is nothing to tell apart.
void check_several_classes(const std::filesystem::path& place, const std::vector<std::string>& classes);

/// The folder of classes inside `folder` that is this part of a data set: train, or test (also called val or
/// validation). Empty where there is none.
std::filesystem::path find_image_part(const std::filesystem::path& folder, const std::string& part);

/// The files as they lie on disk; one that cannot be read is an error when it is asked for.
std::unique_ptr<Dataset> make_image_folder(ImageList list, Shape shape);

}  // namespace lockstep
