#include "data/sets/images/listed_images.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>

#include "core/files/folder.h"
#include "data/fingerprint.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

class ListedImages final : public Dataset {
 public:
  ListedImages(ImageList list, Shape shape) : list_(std::move(list)), shape_(shape) {
    if (in_folder()) return;
    reserve_open_files(list_.archives.size(), list_.place());
    for (const std::filesystem::path& path : list_.archives) archives_.emplace_back(path);
    for (const ImageList::File& file : list_.files) {
      const std::uint64_t bytes = archives_[file.archive].size();
      if (file.offset <= bytes && file.size <= bytes - file.offset) continue;
      throw Error(Category::data, fmt::format("{}: has become shorter since it was listed",
                                              list_.archives[file.archive].string()));
    }
  }

  std::uint64_t size() const override { return list_.files.size(); }
  Shape shape() const override { return shape_; }
  int classes() const override { return static_cast<int>(list_.classes.size()); }
  Task task() const override { return list_.targets.empty() ? Task::classification : Task::multilabel; }
  Encoding encoding() const override { return Encoding::image_file; }
  std::span<const std::uint8_t> sample(std::uint64_t id, std::vector<std::uint8_t>& buffer) const override {
    const ImageList::File& image = list_.files[id];
    if (in_folder()) {
      const InputFile file = open_file(list_.folder / image.name);
      return read_image(*this, id, {.file = file, .size = file.size()}, buffer);
    }
    return read_image(*this, id, {archives_[image.archive], image.offset, image.size}, buffer);
  }
  std::string fingerprint() const override {
    const std::string of_files = files_fingerprint();
    return list_.targets.empty() ? of_files : Fingerprint(*this).add(of_files).text();
  }
  int label(std::uint64_t id) const override { return list_.files[id].label; }
  std::span<const float> targets(std::uint64_t id) const override {
    if (list_.targets.empty()) return {};
    return std::span(list_.targets).subspan(id * list_.classes.size(), list_.classes.size());
  }
  std::string sample_name(std::uint64_t id) const override {
    const ImageList::File& file = list_.files[id];
    if (in_folder()) return (list_.folder / file.name).string();
    return fmt::format("{}: {} at byte {}", list_.archives[file.archive].string(), file.name, file.offset);
  }
  std::vector<std::string> class_names() const override { return list_.classes; }
  std::vector<std::string> warnings() const override { return warnings_of(list_); }

 private:
  bool in_folder() const { return list_.archives.empty(); }
  /// Covers names, classes and sizes of all images, the contents of a few images, and no targets.
  std::string files_fingerprint() const {
    Fingerprint fingerprint(*this, false);
    for (const ImageList::File& file : list_.files) {
      fingerprint.add(file.name);
      if (!in_folder()) {
        fingerprint.add(static_cast<std::uint64_t>(file.label)).add(file.size);
        continue;
      }
      FileStatus status;
      files().stat(list_.folder / file.name, status);  // a missing file leaves `status` unchanged
      fingerprint.add(status.kind == FileKind::file ? status.size : ~std::uint64_t{0});
      if (list_.has_table) fingerprint.add(static_cast<std::uint64_t>(file.label));
    }
    return fingerprint.add_some_samples(*this).text();
  }
  /// Throws Error(data) for a file that cannot be opened, which runs skip, and Error(resource) for a file
  /// that was removed: skipping a file that other hosts still have would change the result.
  static InputFile open_file(const std::filesystem::path& path) {
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
  std::vector<InputFile> archives_;
};

}  // namespace

std::unique_ptr<Dataset> make_images(ImageList list, Shape shape) {
  return std::make_unique<ListedImages>(std::move(list), shape);
}

std::span<const std::uint8_t> read_image(const Dataset& dataset, std::uint64_t id, const ImageBytes& place,
                                         std::vector<std::uint8_t>& buffer) {
  constexpr std::uint64_t most = std::uint64_t{1} << 28;
  if (place.size > most) {
    throw Error(Category::data,
                fmt::format("{}: {} bytes are too many for an image", dataset.sample_name(id), place.size));
  }
  buffer.resize(std::max<std::size_t>(buffer.size(), place.size));
  const auto bytes = std::span(buffer).first(place.size);
  place.file.read(place.offset, std::as_writable_bytes(bytes));
  return bytes;
}

}  // namespace lockstep
