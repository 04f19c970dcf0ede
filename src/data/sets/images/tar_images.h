#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "data/files/tar_index.h"
#include "data/sets/images/image_list.h"

namespace lockstep {

/// Whether a file with this name counts as a tar archive. Compressed archives count, too: the error on
/// opening them explains why they cannot be read.
bool is_tar_name(std::string_view name);

/// Message about an entry that is not a file (TarEntry::is_file): why it cannot be read, and what to do.
inline constexpr const char* unreadable_tar_entry =
    "a link or a file with holes: make the archive with tar --dereference --hard-dereference";

/// Images in a tar archive, with or without classes, sorted by name. In a sample that has an entry .cls,
/// images count only if their names have a single extension, so that 0001.seg.png does not count. Throws
/// Error(data) like list_tar, and if there are no images.
std::vector<TarEntry> images_in_tar(const std::filesystem::path& archive);

/// Lists the images in tar archives by WebDataset's rules: the entries of an archive whose names are equal up
/// to the first dot of the last component form a sample. The class is the text of the sample's entry .cls, a
/// number or a name; without this entry, the name of the folder that contains the image. Classes are sorted
/// by their bytes or, if all are numbers from .cls, by number. `classes`: allowed classes; if empty, all
/// classes. Files are sorted by class, then by name, archive and offset, so that an archive of folders of
/// classes has the order of these folders. Other entries of a sample with .cls do not count as skipped.
/// Throws Error(data) like list_tar; for a class that is not allowed or has control characters; for an image
/// without a class, a sample with several images, an entry that occurs twice, and a link; and if there are no
/// images.
ImageList list_tar_images(const std::vector<std::filesystem::path>& archives,
                          const std::vector<std::string>& classes = {});

}  // namespace lockstep
