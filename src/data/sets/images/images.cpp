#include <fmt/format.h>

#include "data/sets/images/image_parts.h"
#include "data/sets/images/packed_images.h"
#include "data/sets/registry.h"
#include "lockstep/error.h"
#include "lockstep/world.h"

namespace lockstep {
namespace {

DatasetPair open_packed_parts(const std::filesystem::path& folder, Shape shape) {
  DatasetPair pair;
  pair.train = open_packed_images(folder, "train", shape);
  pair.test = open_packed_images(folder, "test", shape);
  if (pair.test->class_names() != pair.train->class_names()) {
    throw Error(Category::data, fmt::format("{}: train.index and test.index were packed from different data",
                                            folder.string()));
  }
  check_several_classes(folder / "train.index", pair.train->class_names());
  return pair;
}

DatasetPair open_parts(const std::filesystem::path& folder, double test_fraction, Shape shape) {
  if (has_packed_images(folder, "train")) {
    if (test_fraction > 0.0) {
      throw Error(Category::usage,
                  fmt::format("has no effect, as {} exists: omit it", (folder / "test.index").string()),
                  "test-fraction");
    }
    return open_packed_parts(folder, shape);
  }
  ImageParts parts = list_image_parts(folder, test_fraction);
  DatasetPair pair;
  pair.train = make_image_folder(std::move(parts.train), shape);
  pair.test = make_image_folder(std::move(parts.test), shape);
  return pair;
}

}  // namespace

/// JPEG and PNG files in folders named after their classes, or packed into shards. Every rank lists the
/// files.
DatasetPair open_images(const World& world, const DatasetOptions& options) {
  DatasetPair pair;
  world.agree([&] {
    if (options.directory.empty()) {
      throw Error(Category::usage, "data set 'images' has no default folder: name one", "data-dir");
    }
    pair =
        open_parts(options.directory, options.test_fraction,
                   {.channels = options.channels, .height = options.image_size, .width = options.image_size});
  });
  return pair;
}

}  // namespace lockstep
