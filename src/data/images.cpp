#include <fmt/format.h>

#include "data/image_folder.h"
#include "data/packed_images.h"
#include "data/registry.h"
#include "lockstep/error.h"
#include "lockstep/world.h"

namespace lockstep {
namespace {

DatasetPair open_parts(const std::filesystem::path& folder, Shape shape) {
  DatasetPair pair;
  if (has_packed_images(folder, "train")) {
    pair.train = open_packed_images(folder, "train", shape);
    pair.test = open_packed_images(folder, "test", shape);
    if (pair.test->class_names() != pair.train->class_names()) {
      throw Error(
          Category::data,
          fmt::format("{}: train.index and test.index were packed from different data", folder.string()));
    }
    return pair;
  }
  for (const char* part : {"train", "test"}) {
    if (find_image_part(folder, part).empty()) {
      throw Error(Category::data,
                  fmt::format("{}: no folder {} there; images must lie in train/CLASS/ and test/CLASS/ (or "
                              "val/CLASS/), or be packed by lockstep data pack",
                              folder.string(), part));
    }
  }
  ImageList train = list_images(find_image_part(folder, "train"));
  ImageList test = list_images(find_image_part(folder, "test"), train.classes);
  pair.train = make_image_folder(std::move(train), shape);
  pair.test = make_image_folder(std::move(test), shape);
  return pair;
}

}  // namespace

/// JPEG and PNG files in folders named after their classes, or packed into shards. Every rank lists them.
DatasetPair open_images(const World& world, const DatasetOptions& options) {
  DatasetPair pair;
  world.agree([&] {
    if (options.directory.empty()) {
      throw Error(Category::usage, "data set 'images' has no default folder: name one with --data-dir");
    }
    if (options.image_size < 1 || (options.channels != 1 && options.channels != 3)) {
      throw Error(Category::usage, fmt::format("images of {} pixels and {} channels are impossible: channels "
                                               "are 1 or 3",
                                               options.image_size, options.channels));
    }
    pair =
        open_parts(options.directory,
                   {.channels = options.channels, .height = options.image_size, .width = options.image_size});
  });
  return pair;
}

}  // namespace lockstep
