#include <fmt/format.h>

#include "data/sets/images/image_parts.h"
#include "data/sets/images/labelled_images.h"
#include "data/sets/images/listed_images.h"
#include "data/sets/images/packed_images.h"
#include "data/sets/parts.h"
#include "data/sets/registry.h"
#include "lockstep/error.h"
#include "lockstep/world.h"

namespace lockstep {
namespace {

DatasetPair open_packed_parts(const std::filesystem::path& folder, double test_fraction, Shape shape,
                              DataUse use) {
  const std::filesystem::path test = find_part(folder, Part::test, ".index");
  test_share(test, test_fraction, use);
  const std::filesystem::path validation = find_part(folder, Part::validation, ".index");
  if (use == DataUse::training && test.empty() && validation.empty()) {
    throw Error(Category::data, fmt::format("{}: no test.index there beside train.index: pack the data again",
                                            folder.string()));
  }
  if (use == DataUse::training && test_fraction > 0.0) {
    throw Error(
        Category::usage,
        fmt::format("does not divide packed images ({}): give it to lockstep data pack", folder.string()),
        "test-fraction");
  }
  const auto open_part = [&](const std::filesystem::path& index) {
    return index.empty() ? nullptr : open_packed_images(folder, index.stem().string(), shape);
  };
  DatasetPair pair;
  pair.train = open_part(find_part(folder, Part::train, ".index"));
  pair.validation = open_part(validation);
  pair.test = open_part(test);
  pair.validation_origin = validation.string();
  pair.test_origin = test.string();
  for (const Dataset* part : {pair.validation.get(), pair.test.get()}) {
    if (part == nullptr || part->class_names() == pair.train->class_names()) continue;
    throw Error(Category::data,
                fmt::format("{}: train.index and {} were packed from different data", folder.string(),
                            part == pair.test.get() ? "test.index" : "validation.index"));
  }
  if (use == DataUse::training) check_several_classes(folder / "train.index", pair.train->class_names());
  return pair;
}

DatasetPair make_parts(ImageParts parts, Shape shape) {
  DatasetPair pair;
  pair.validation_origin = std::move(parts.validation_origin);
  pair.test_origin = std::move(parts.test_origin);
  pair.train = make_images(std::move(parts.train), shape);
  if (parts.validation) pair.validation = make_images(std::move(*parts.validation), shape);
  if (parts.test) pair.test = make_images(std::move(*parts.test), shape);
  return pair;
}

DatasetPair open_classes(const std::filesystem::path& place, double test_fraction, Shape shape, DataUse use) {
  if (has_packed_images(place)) return open_packed_parts(place, test_fraction, shape, use);
  return make_parts(list_image_parts(place, test_fraction, use), shape);
}

/// Throws Error(usage) for options that do not fit the task.
void check_task(const DatasetOptions& options) {
  if (options.task == Task::regression) {
    throw Error(Category::usage, "images have classes or labels: classification or multilabel", "task");
  }
  if (options.task == Task::multilabel && options.labels.empty()) {
    throw Error(Category::usage,
                "name the table of the images and their labels, such as labels.csv (docs/data.md)", "labels");
  }
  if (options.task == Task::multilabel && !options.label_column.empty()) {
    throw Error(Category::usage, "has no effect with --task multilabel: omit it", "label-column");
  }
  if (options.task == Task::multilabel) return;
  if (!options.labels.empty() && has_packed_images(options.directory)) {
    throw Error(
        Category::usage,
        fmt::format("has no effect, as {} has packed images with their classes: omit it", options.directory),
        "labels");
  }
  if (options.labels.empty() && !(options.drop_columns.empty() && options.label_column.empty())) {
    throw Error(Category::usage, "has no effect, as folders name the classes of images: omit it",
                options.drop_columns.empty() ? "label-column" : "drop-columns");
  }
}

}  // namespace

/// Image files in folders named after their classes, in tar archives, or packed into shards; or with classes
/// or labels from a table. Every rank lists the files.
DatasetPair open_images(const World& world, const DatasetOptions& options, DataUse use) {
  DatasetPair pair;
  world.agree([&] {
    if (options.directory.empty()) {
      throw Error(Category::usage, "data set 'images' has no default folder: name one", "data-dir");
    }
    check_task(options);
    const Shape shape{
        .channels = options.channels, .height = options.image_size, .width = options.image_size};
    pair = options.labels.empty() ? open_classes(options.directory, options.test_fraction, shape, use)
                                  : make_parts(list_labelled_images(options, use), shape);
  });
  return pair;
}

}  // namespace lockstep
