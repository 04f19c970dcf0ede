#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "cli/predict/inputs.h"
#include "core/files/file.h"
#include "data/fingerprint.h"
#include "data/sets/images/listed_images.h"
#include "data/sets/images/tar_images.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

class InputImages final : public Dataset {
 public:
  explicit InputImages(Shape shape) : shape_(shape) {}

  void add_file(const std::string& path) { images_.push_back({.name = path}); }
  /// Adds the images of an archive, or throws and adds none.
  void add_archive(const std::string& path) {
    reserve_open_files(1, path);
    const std::vector<TarEntry> entries = images_in_tar(path);
    archives_.emplace_back(path);
    for (const TarEntry& entry : entries) {
      images_.push_back({.name = path + "/" + entry.name,
                         .archive = archives_.size() - 1,
                         .offset = entry.offset,
                         .size = entry.size,
                         .is_file = entry.is_file});
    }
  }

  std::uint64_t size() const override { return images_.size(); }
  Shape shape() const override { return shape_; }
  int classes() const override { return 1; }
  Encoding encoding() const override { return Encoding::image_file; }
  std::span<const std::uint8_t> sample(std::uint64_t id, std::vector<std::uint8_t>& buffer) const override {
    const Image& image = images_[id];
    if (!image.is_file) throw Error(Category::data, fmt::format("{}: {}", image.name, unreadable_tar_entry));
    if (image.archive) {
      return read_image(*this, id, {archives_[*image.archive], image.offset, image.size}, buffer);
    }
    const InputFile file(image.name);
    return read_image(*this, id, {.file = file, .size = file.size()}, buffer);
  }
  int label(std::uint64_t /*id*/) const override { return 0; }
  /// Covers names and places only, as contents may be large; lines_of_evaluation adds some contents.
  std::string fingerprint() const override {
    Fingerprint fingerprint(*this);
    for (const Image& image : images_) fingerprint.add(image.name).add(image.offset).add(image.size);
    return fingerprint.text();
  }
  std::string sample_name(std::uint64_t id) const override { return images_[id].name; }

 private:
  struct Image {
    std::string name;
    std::optional<std::size_t> archive = {};  ///< index in archives_; empty: the image is a file
    std::uint64_t offset = 0;                 ///< offset in the archive
    std::uint64_t size = 0;                   ///< size in the archive
    bool is_file = true;                      ///< false: an archive entry that has no bytes in the archive
  };

  Shape shape_;
  std::vector<Image> images_;
  std::vector<InputFile> archives_;
};

}  // namespace

InputSamples find_images(const std::vector<std::string>& files, Shape shape, bool strict) {
  auto images = std::make_unique<InputImages>(shape);
  InputSamples found;
  for (const std::string& file : files) {
    if (!is_tar_name(file)) {
      images->add_file(file);
      continue;
    }
    try {
      images->add_archive(file);
    } catch (const Error& error) {
      if (strict || error.category() != Category::data) throw;
      found.unreadable.push_back({file, error.what()});
    }
  }
  found.samples = std::move(images);
  return found;
}

}  // namespace lockstep
