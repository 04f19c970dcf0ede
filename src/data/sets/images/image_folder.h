#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "lockstep/dataset.h"

namespace lockstep {

/// Image files of a part of a data set, in folders named after their classes: FOLDER/CLASS/NAME.jpg.
struct ImageList {
  struct File {
    std::string name;  ///< CLASS/NAME.jpg
    int label = 0;
  };
  std::filesystem::path folder = {};
  std::vector<std::string> classes = {};
  std::vector<File> files = {};  ///< by class, then by name
  std::uint64_t skipped_files =
      0;  ///< entries that are neither a class nor an image of a class; hidden entries do not count
  std::string first_skipped_file = {};  ///< without FOLDER
};

/// Lists files with the extensions jpg, jpeg and png, in upper or lower case. `classes`: allowed classes;
/// empty: all folders, ascending. Throws Error(data) for a folder that is missing or has no classes, and for
/// a class that has no images, is not allowed, or has control characters in its name, which an index of
/// packed images cannot contain.
ImageList list_images(const std::filesystem::path& folder, const std::vector<std::string>& classes = {});

/// Line of a warning about the entries that were skipped; empty: there are none.
std::string skipped_files_text(const ImageList& list);

/// Throws Error(data) naming `place` if there is only one class.
void check_several_classes(const std::filesystem::path& place, const std::vector<std::string>& classes);

/// Folder in `folder` with this part of a data set: train, or test (also val or validation). Empty: none.
std::filesystem::path find_image_part(const std::filesystem::path& folder, const std::string& part);

/// Data set of the files, which are read when samples are requested.
std::unique_ptr<Dataset> make_image_folder(ImageList list, Shape shape);

}  // namespace lockstep
