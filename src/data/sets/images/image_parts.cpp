#include "data/sets/images/image_parts.h"

#include <fmt/format.h>

#include "core/files/file_system.h"
#include "core/hash.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

/// Throws for missing folders, and for a test fraction beside a folder with test images. `train` and `test`:
/// folders found in `folder`; empty: none.
void check_parts(const std::filesystem::path& folder, const std::filesystem::path& train,
                 const std::filesystem::path& test, double test_fraction) {
  if (!test.empty() && test_fraction > 0.0) {
    throw Error(Category::usage, fmt::format("has no effect, as {} exists: omit it", test.string()),
                "test-fraction");
  }
  if (!test.empty() && train.empty()) {
    throw Error(Category::data,
                fmt::format("{}: no folder train there beside {}; images must lie in train/CLASS/ and "
                            "test/CLASS/ (or val/CLASS/)",
                            folder.string(), test.filename().string()));
  }
  if (test.empty() && !(test_fraction > 0.0) && file_kind(folder) == FileKind::folder) {
    throw Error(
        Category::usage,
        fmt::format("{}: no folder{} test there: give a test fraction, the share of the images to test "
                    "with, or make train/CLASS/ and test/CLASS/ (or val/CLASS/)",
                    folder.string(), train.empty() ? "s train and" : ""),
        "data-dir");
  }
}

/// Throws if a class has no training image, or if there are no test images. Not every class needs test
/// images.
void check_split(const ImageList& train, const ImageList& test, double fraction) {
  std::vector<bool> trained(train.classes.size());
  for (const ImageList::File& file : train.files) {
    trained[static_cast<std::size_t>(file.label)] = true;
  }
  for (std::size_t label = 0; label < trained.size(); ++label) {
    if (!trained[label]) {
      throw Error(Category::data,
                  fmt::format("{}: a test fraction of {} leaves no image of class '{}' to train",
                              train.folder.string(), fraction, train.classes[label]));
    }
  }
  if (test.files.empty()) {
    throw Error(Category::data, fmt::format("{}: a test fraction of {} of {} images leaves none to test",
                                            train.folder.string(), fraction, train.files.size()));
  }
}

}  // namespace

ImageList split_off_test_images(ImageList& list, double fraction) {
  ImageList test{.folder = list.folder, .classes = list.classes};
  std::vector<ImageList::File> train;
  for (ImageList::File& file : list.files) {
    Digest digest;
    digest.update(std::as_bytes(std::span(file.name)));
    const bool held_out = in_unit_interval(digest.words()[0]) < fraction;
    (held_out ? test.files : train).push_back(std::move(file));
  }
  list.files = std::move(train);
  check_split(list, test, fraction);
  return test;
}

ImageParts list_image_parts(const std::filesystem::path& folder, double test_fraction) {
  const std::filesystem::path train = find_image_part(folder, "train");
  const std::filesystem::path test = find_image_part(folder, "test");
  check_parts(folder, train, test, test_fraction);
  ImageParts parts;
  parts.train = list_images(train.empty() ? folder : train);
  check_several_classes(parts.train.folder, parts.train.classes);
  parts.test = test.empty() ? split_off_test_images(parts.train, test_fraction)
                            : list_images(test, parts.train.classes);
  return parts;
}

}  // namespace lockstep
