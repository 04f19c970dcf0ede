#include "data/sets/images/image_folder.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/files/file_system.h"
#include "core/files/folder.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

[[noreturn]] void fail_images(const std::filesystem::path& folder, const std::string& what) {
  throw Error(Category::data, fmt::format("{}: {}", folder.string(), what));
}

/// Names of a folder's entries, ascending. Names that begin with a dot are hidden.
struct FolderNames {
  std::vector<std::string> wanted;
  std::vector<std::string> others;
};

template <class Wanted>
FolderNames sorted_names(const std::filesystem::path& folder, const Wanted& wanted) {
  FolderNames names;
  for (std::string& name : list_folder(folder)) {
    if (name.front() == '.') continue;
    (wanted(name) ? names.wanted : names.others).push_back(std::move(name));
  }
  return names;
}

/// Adds the files of FOLDER/NAME.
void add_class(ImageList& list, const std::string& name) {
  check_class_name(name, list.folder.string());
  const std::filesystem::path folder = list.folder / name;
  const auto known = std::ranges::find(list.classes, name);
  if (known == list.classes.end()) fail_images(folder, "the training images have no such class");
  const auto label = static_cast<int>(known - list.classes.begin());
  const FolderNames found = sorted_names(folder, is_image_name);
  if (found.wanted.empty()) fail_images(folder, fmt::format("a class without images ({})", image_endings));
  for (const std::string& file : found.wanted) {
    list.files.push_back({.name = fmt::format("{}/{}", name, file), .label = label});
  }
  for (const std::string& other : found.others) note_skipped(list, fmt::format("{}/{}", name, other));
}

}  // namespace

ImageList list_images(const std::filesystem::path& folder, const std::vector<std::string>& classes) {
  if (file_kind(folder) != FileKind::folder) fail_images(folder, "no such folder");
  const FolderNames found = sorted_names(
      folder, [&](const std::string& name) { return file_kind(folder / name) == FileKind::folder; });
  if (found.wanted.empty()) {
    fail_images(folder, "holds neither folders named after classes nor train*.tar");
  }
  ImageList list{.folder = folder, .classes = classes.empty() ? found.wanted : classes};
  for (const std::string& other : found.others) note_skipped(list, other);
  for (const std::string& name : found.wanted) {
    add_class(list, name);
  }
  return list;
}

}  // namespace lockstep
