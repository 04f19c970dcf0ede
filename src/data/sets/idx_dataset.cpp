#include "data/sets/idx_dataset.h"

#include <fmt/format.h>

#include "core/files/file_system.h"
#include "core/text/printable.h"
#include "data/files/idx.h"
#include "data/sets/registry.h"
#include "lockstep/error.h"
#include "lockstep/world.h"

namespace lockstep {
namespace {

[[noreturn]] void fail(const std::string& what) { throw Error(Category::data, what); }

std::filesystem::path find_file(const std::filesystem::path& directory, const std::string& name,
                                const std::string& advice) {
  for (const std::string& candidate : {name, name + ".gz"}) {
    if (file_kind(directory / candidate) != FileKind::missing) return directory / candidate;
  }
  if (file_kind(directory) != FileKind::folder) {
    fail(fmt::format("{}: no such folder; {}", directory.string(), advice));
  }
  fail(fmt::format("{}: no {}.gz there; {}", directory.string(), name, advice));
}

void check_images(const IdxDescription& description, const IdxArray& images, const std::string& name) {
  const auto height = static_cast<std::uint32_t>(description.shape.height);
  const auto width = static_cast<std::uint32_t>(description.shape.width);
  if (images.dimensions[0] == 0) {
    fail(fmt::format("{}: holds no images", name));
  }
  if (images.dimensions[1] != height || images.dimensions[2] != width) {
    fail(fmt::format("{}: images of {}x{} pixels, {} has {}x{}", name, images.dimensions[1],
                     images.dimensions[2], description.name, height, width));
  }
}

void check_labels(const IdxDescription& description, const IdxArray& labels, const std::string& name) {
  for (std::size_t id = 0; id < labels.values.size(); ++id) {
    if (labels.values[id] >= description.classes) {
      fail(fmt::format("{}: label {} of sample {} is out of range, {} has classes 0 to {}", name,
                       labels.values[id], id, description.name, description.classes - 1));
    }
  }
}

std::unique_ptr<Dataset> open_split(const World& world, const IdxDescription& description,
                                    const std::string& directory, const std::string& name) {
  std::vector<PackedFile> files;
  world.agree([&] { files = find_idx_files(directory, name, description.advice); });
  HostBlock block(world, files);
  std::unique_ptr<Dataset> dataset;
  world.agree([&] { dataset = make_idx_dataset(description, files, std::move(block)); });
  return dataset;
}

/// Collective.
DatasetPair open_idx(const World& world, const IdxDescription& description, const std::string& directory) {
  const std::string& place = directory.empty() ? description.default_directory : directory;
  world.agree([&] {
    if (place.empty()) {
      throw Error(
          Category::usage,
          fmt::format("data set '{}' has no default folder; {}", description.name, description.advice),
          "data-dir");
    }
  });
  DatasetPair pair;
  pair.train = open_split(world, description, place, "train");
  pair.test = open_split(world, description, place, "t10k");
  return pair;
}

}  // namespace

std::vector<PackedFile> find_idx_files(const std::filesystem::path& directory, const std::string& split,
                                       const std::string& advice) {
  return {PackedFile(find_file(directory, split + "-images-idx3-ubyte", advice)),
          PackedFile(find_file(directory, split + "-labels-idx1-ubyte", advice))};
}

std::unique_ptr<Dataset> make_idx_dataset(const IdxDescription& description,
                                          const std::vector<PackedFile>& files, HostBlock block) {
  const PackedFile& image_file = files.at(0);
  const PackedFile& label_file = files.at(1);
  const IdxArray images =
      parse_idx(block.bytes().first(image_file.size()),
                {.name = image_file.name(), .compressed = image_file.compressed(), .dimensions = 3});
  const IdxArray labels =
      parse_idx(block.bytes().subspan(image_file.size()),
                {.name = label_file.name(), .compressed = label_file.compressed(), .dimensions = 1});
  if (images.dimensions[0] != labels.dimensions[0]) {
    fail(fmt::format("{}: {} for {} of {}", label_file.name(), counted(labels.dimensions[0], "label"),
                     counted(images.dimensions[0], "image"), image_file.name()));
  }
  check_images(description, images, image_file.name());
  check_labels(description, labels, label_file.name());
  return std::make_unique<HostDataset>(HostDataset::Images{.size = labels.values.size(),
                                                           .shape = description.shape,
                                                           .classes = description.classes,
                                                           .class_names = description.class_names,
                                                           .pixels = images.values.data(),
                                                           .pixel_stride = description.shape.size(),
                                                           .labels = labels.values.data()},
                                       std::move(block));
}

/// 28x28 grey images of handwritten digits, 60,000 for training and 10,000 for testing (LeCun, Cortes,
/// Burges).
DatasetPair open_mnist(const World& world, const DatasetOptions& options, DataUse /*use*/) {
  return open_idx(world,
                  {.name = "mnist",
                   .shape = {.channels = 1, .height = 28, .width = 28},
                   .classes = 10,
                   .default_directory = "",
                   .advice = "name the folder of its four files"},
                  options.directory);
}

/// 28x28 grey images of clothes in 10 classes, 60,000 for training and 10,000 for testing (Xiao, Rasul,
/// Vollgraf, 2017).
DatasetPair open_fashion_mnist(const World& world, const DatasetOptions& options, DataUse /*use*/) {
  return open_idx(
      world,
      {.name = "fashion-mnist",
       .shape = {.channels = 1, .height = 28, .width = 28},
       .classes = 10,
       .default_directory = "/usr/share/datasets/fashion-mnist",
       .advice = "install Debian's package dataset-fashion-mnist, or name the folder of its files",
       .class_names = {"t-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag",
                       "ankle boot"}},
      options.directory);
}

}  // namespace lockstep
