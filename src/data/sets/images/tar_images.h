#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "data/files/tar_index.h"
#include "data/sets/images/image_list.h"

namespace lockstep {

/// Whether a file with this name is taken for a tar archive. Compressed ones count, too: opening them
/// explains why they cannot be read.
bool is_tar_name(std::string_view name);

/// Reason why an entry that is not a file (TarEntry::is_file) cannot be read, and what to do.
inline constexpr const char* unreadable_tar_entry =
    "a link or a file with holes: make the archive with tar --dereference --hard-dereference";

/// Images in a tar archive, with or without classes, by name. Images beside an entry .cls of the same sample
/// count only if their names have a single extension, so that 0001.seg.png does not. Throws Error(data) as
/// list_tar, and if there are no images.
std::vector<TarEntry> images_in_tar(const std::filesystem::path& archive);

/// Lists the images in tar archives by WebDataset's rules: the entries of an archive whose names are equal up
/// to the first dot of the last component are a sample. The class is the text of its entry .cls, a number or
/// a name; without one, the name of the folder that holds the image. Classes are sorted by their bytes; if
/// all are numbers from .cls, by number. `classes`: allowed classes; empty: all. Files are sorted by class,
/// then by name, archive and place, so that an archive of folders of classes has the order of these folders.
/// Other entries of a sample with .cls do not count as skipped. Throws Error(data) as list_tar; for a class
/// that is not allowed or has control characters; for an image without a class, a sample with several images,
/// an entry that is there twice, and a link; and if there are no images.
ImageList list_tar_images(const std::vector<std::filesystem::path>& archives,
                          const std::vector<std::string>& classes = {});

}  // namespace lockstep
