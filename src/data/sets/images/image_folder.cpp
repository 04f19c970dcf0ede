#include "data/sets/images/image_folder.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/files/file_system.h"
#include "core/files/folder.h"
#include "core/text/command_line.h"
#include "core/text/printable.h"
#include "data/sets/parts.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

[[noreturn]] void fail_images(const std::filesystem::path& folder, const std::string& what) {
  throw Error(Category::data, fmt::format("{}: {}", folder.string(), what));
}

/// Names of a folder's entries, ascending, without hidden entries, whose names begin with a dot.
struct FolderNames {
  std::vector<std::string> wanted;
  std::vector<std::string> others;
};

/// `wanted` is called with a name, and with whether it is the name of a folder (false for a link to a
/// folder).
template <class Wanted>
FolderNames sorted_names(const std::filesystem::path& folder, const Wanted& wanted) {
  FolderNames names;
  std::vector<std::string> folders;
  for (std::string& name : list_folder(folder, &folders)) {
    if (name.front() == '.') continue;
    const bool is_wanted = wanted(name, std::ranges::binary_search(folders, name));
    (is_wanted ? names.wanted : names.others).push_back(std::move(name));
  }
  return names;
}

FolderNames images_in(const std::filesystem::path& folder) {
  return sorted_names(
      folder, [](const std::string& name, bool is_folder) { return !is_folder && is_image_name(name); });
}

FolderNames folders_in(const std::filesystem::path& folder) {
  return sorted_names(folder, [&](const std::string& name, bool is_folder) {
    return is_folder || file_kind(folder / name) == FileKind::folder;
  });
}

/// Whether any folder in `folder` contains images. Links are not followed, because each would need another
/// lookup. Folders that cannot be listed do not count.
bool folders_have_images(const std::filesystem::path& folder) {
  std::vector<std::string> folders;
  list_folder(folder, &folders);
  return std::ranges::any_of(folders, [&](const std::string& name) {
    if (name.front() == '.') return false;
    try {
      return !images_in(folder / name).wanted.empty();
    } catch (const Error&) {
      return false;
    }
  });
}

/// Advice at the end of the message that the folder of a class has no images.
std::string advice_on_level(const std::filesystem::path& folder) {
  if (folders_have_images(folder)) {
    std::string advice = part_name_advice(folder.filename().string());
    if (!advice.empty()) return advice;
    return fmt::format("; its folders hold images: if they are the classes, name the folder {} instead",
                       shell_line({folder.string()}));
  }
  const std::vector<std::string> others = folders_in(folder).others;
  if (others.empty()) return {};
  return fmt::format("; {} skipped, the first is {}", counted(others.size(), "entry"), printable(others[0]));
}

/// Adds the images of the class `name`, the files in FOLDER/NAME.
void add_class(ImageList& list, const std::string& name) {
  check_class_name(name, list.folder.string());
  const std::filesystem::path folder = list.folder / name;
  const auto known = std::ranges::find(list.classes, name);
  if (known == list.classes.end()) fail_images(folder, "the training images have no such class");
  const auto label = static_cast<int>(known - list.classes.begin());
  const FolderNames found = images_in(folder);
  if (found.wanted.empty()) {
    fail_images(folder, fmt::format("a class without images ({}){}", image_endings, advice_on_level(folder)));
  }
  for (const std::string& file : found.wanted) {
    list.files.push_back({.name = fmt::format("{}/{}", name, file), .label = label});
  }
  for (const std::string& other : found.others) note_skipped(list, fmt::format("{}/{}", name, other));
}

}  // namespace

ImageList list_images(const std::filesystem::path& folder, const std::vector<std::string>& classes) {
  if (file_kind(folder) != FileKind::folder) fail_images(folder, "no such folder");
  const FolderNames found = folders_in(folder);
  if (found.wanted.empty()) {
    std::string advice;
    if (std::ranges::any_of(found.others, is_image_name)) {
      advice = class_name_advice(folder);
      if (advice.empty()) {
        advice = "; a table can name the classes of its images (--labels)";
      }
    }
    fail_images(folder, fmt::format("holds neither folders named after classes nor train*.tar{}", advice));
  }
  ImageList list{.folder = folder, .classes = classes.empty() ? found.wanted : classes};
  for (const std::string& other : found.others) note_skipped(list, other);
  for (const std::string& name : found.wanted) {
    add_class(list, name);
  }
  return list;
}

bool holds_images(const std::filesystem::path& folder) {
  try {
    return !images_in(folder).wanted.empty() || folders_have_images(folder);
  } catch (const Error&) {
    return false;
  }
}

std::string part_name_advice(std::string name) {
  name = in_small_letters(std::move(name));
  for (const char* part : {"train", "training", "val", "valid", "validation", "test", "testing"}) {
    if (name == part) return "; parts of the data must be called train, val and test";
  }
  return {};
}

}  // namespace lockstep
