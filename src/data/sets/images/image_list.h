#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

/// Image files of a part of a data set, by class, then by name: in folders named after their classes
/// (FOLDER/CLASS/NAME.jpg), anywhere in a folder with a table of their classes, or in tar archives. With
/// targets: in the order of the rows of the table.
struct ImageList {
  struct File {
    std::string name;  ///< CLASS/NAME.jpg, or a path in FOLDER; in an archive, the entry's name
    int label = 0;
    std::uint32_t archive = 0;  ///< in `archives`
    std::uint64_t offset = 0;   ///< in the archive
    std::uint64_t size = 0;     ///< in the archive
  };
  std::filesystem::path folder = {};                 ///< empty for archives
  std::vector<std::filesystem::path> archives = {};  ///< empty for a folder
  std::vector<std::string> classes = {};
  bool has_table = false;  ///< whether a table has the classes of the files in `folder`, not their names
  std::vector<File> files = {};
  std::vector<float> targets = {};      ///< [file][class]: 1 if it applies, else 0; empty: a class each
  std::uint64_t skipped_files = 0;      ///< entries that are no image of a class; hidden entries do not count
  std::string first_skipped_file = {};  ///< without FOLDER
  std::string warning_of_others = {};   ///< line about what lies beside the parts; empty: nothing

  /// The folder, or the archives, for messages.
  std::string place() const;
};

/// Endings of the names of images, for messages.
inline constexpr const char* image_endings = ".jpg, .jpeg, .png or .webp";

/// Whether a file with this name is taken for an image: whether it has one of these endings, in upper or
/// lower case.
bool is_image_name(std::string_view name);

/// Notes an entry that is skipped.
void note_skipped(ImageList& list, const std::string& name);

/// Throws Error(data) with `place` for a class with control characters in its name, which an index of packed
/// images cannot contain.
void check_class_name(const std::string& name, const std::string& place);

/// Throws Error(data) naming `place` if there is only one class.
void check_several_classes(const std::filesystem::path& place, const std::vector<std::string>& classes);

/// Lines of warnings about the entries that were skipped, if there are any.
std::vector<std::string> warnings_of(const ImageList& list);

}  // namespace lockstep
