#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

/// Image files of a part of a data set. They are in folders named after their classes
/// (FOLDER/CLASS/NAME.jpg), anywhere in a folder if a table lists them with their classes, or in tar
/// archives. Files are sorted by class, then by name; with targets, they are in the order of the table's
/// rows.
struct ImageList {
  struct File {
    std::string name;  ///< CLASS/NAME.jpg, or a path in FOLDER; in an archive, the entry's name
    int label = 0;
    std::uint32_t archive = 0;  ///< index in `archives`
    std::uint64_t offset = 0;   ///< in the archive; 0 for a folder
    std::uint64_t size = 0;     ///< in the archive; 0 for a folder
  };
  std::filesystem::path folder = {};                 ///< empty for archives
  std::vector<std::filesystem::path> archives = {};  ///< empty for a folder
  std::vector<std::string> classes = {};
  bool has_table = false;  ///< whether a table, not the folders' names, has the classes of the files
  std::vector<File> files = {};
  std::vector<float> targets = {};      ///< [file][class] 1 if it applies, else 0; empty: see File::label
  std::uint64_t skipped_files = 0;      ///< entries that are not images of a class, except hidden entries
  std::string first_skipped_file = {};  ///< without FOLDER
  std::string warning_of_others = {};   ///< warning about entries that belong to no part; empty: none

  /// Name of the folder or the archives, for messages.
  std::string place() const;
};

/// File name extensions of images, for messages.
inline constexpr const char* image_endings = ".jpg, .jpeg, .png or .webp";

/// Whether a file with this name counts as an image, i.e. has one of these extensions, in upper or lower
/// case.
bool is_image_name(std::string_view name);

/// Notes an entry that is skipped.
void note_skipped(ImageList& list, const std::string& name);

/// Throws Error(data) naming `place` for a class with control characters in its name, which an index of
/// packed images cannot contain.
void check_class_name(const std::string& name, const std::string& place);

/// Throws Error(data) naming `place` if there is only one class.
void check_several_classes(const std::filesystem::path& place, const std::vector<std::string>& classes);

/// Warnings about entries that were skipped; empty if there are none.
std::vector<std::string> warnings_of(const ImageList& list);

}  // namespace lockstep
