#include "data/sets/images/image_folder.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/files/file.h"
#include "core/files/folder.h"
#include "data/fingerprint.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

class ImageFolder : public Dataset {
 public:
  ImageFolder(ImageList list, Shape shape) : list_(std::move(list)), shape_(shape) {}

  std::uint64_t size() const override { return list_.files.size(); }
  Shape shape() const override { return shape_; }
  int classes() const override { return static_cast<int>(list_.classes.size()); }
  Encoding encoding() const override { return Encoding::image_file; }
  std::span<const std::uint8_t> sample(std::uint64_t id, std::vector<std::uint8_t>& buffer) const override {
    const InputFile file = open_file(id);
    if (file.size() > max_file_bytes) {
      throw Error(Category::data,
                  fmt::format("{}: {} bytes are too many for an image", sample_name(id), file.size()));
    }
    buffer.resize(std::max<std::size_t>(buffer.size(), file.size()));
    const auto bytes = std::span(buffer).first(file.size());
    file.read(0, std::as_writable_bytes(bytes));
    return bytes;
  }
  /// Covers names, classes and sizes of all files, but contents of a few only.
  std::string fingerprint() const override {
    Fingerprint fingerprint(*this);
    for (const ImageList::File& file : list_.files) {
      FileStatus status;
      files().stat(list_.folder / file.name, status);  // fails for a file that is missing
      fingerprint.add(file.name).add(status.kind == FileKind::file ? status.size : ~std::uint64_t{0});
    }
    return fingerprint.add_some_samples(*this).text();
  }
  int label(std::uint64_t id) const override { return list_.files[id].label; }
  std::string sample_name(std::uint64_t id) const override {
    return (list_.folder / list_.files[id].name).string();
  }
  std::vector<std::string> class_names() const override { return list_.classes; }
  std::vector<std::string> warnings() const override { return warnings_of(list_); }

 private:
  /// Throws Error(data) for a file that cannot be opened, which runs skip, and Error(resource) for one that
  /// is gone: skipping a file that other hosts still have would change the result.
  InputFile open_file(std::uint64_t id) const {
    const std::filesystem::path path = list_.folder / list_.files[id].name;
    try {
      return InputFile(path);
    } catch (const Error& error) {
      if (error.category() != Category::data || is_listed(path)) throw;
      throw Error(Category::resource,
                  fmt::format("{}: was removed after the data set was opened", path.string()));
    }
  }
  static bool is_listed(const std::filesystem::path& path) {
    try {
      return std::ranges::count(list_folder(path.parent_path()), path.filename().string()) > 0;
    } catch (const Error&) {
      return false;
    }
  }

  ImageList list_;
  Shape shape_;
};

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

std::unique_ptr<Dataset> make_image_folder(ImageList list, Shape shape) {
  return std::make_unique<ImageFolder>(std::move(list), shape);
}

}  // namespace lockstep
