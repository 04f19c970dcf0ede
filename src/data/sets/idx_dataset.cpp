#include "data/sets/idx_dataset.h"

#include <fmt/format.h>

#include "core/files/file_system.h"
#include "core/printable.h"
#include "data/files/idx.h"
#include "lockstep/error.h"
#include "lockstep/world.h"

namespace lockstep {
namespace {

[[noreturn]] void fail(const std::string& what) { throw Error(Category::data, what); }

class IdxDataset : public Dataset {
 public:
  IdxDataset(const IdxDescription& description, const IdxArray& images, const IdxArray& labels,
             HostBlock block)
      : shape_(description.shape),
        classes_(description.classes),
        class_names_(description.class_names),
        images_(images.values),
        labels_(labels.values),
        block_(std::move(block)) {}

  std::uint64_t size() const override { return labels_.size(); }
  Shape shape() const override { return shape_; }
  int classes() const override { return classes_; }
  std::span<const std::uint8_t> sample(std::uint64_t id,
                                       std::vector<std::uint8_t>& /*buffer*/) const override {
    return images_.subspan(id * shape_.size(), shape_.size());
  }
  int label(std::uint64_t id) const override { return labels_[id]; }
  std::vector<std::string> class_names() const override { return class_names_; }

 private:
  Shape shape_;
  int classes_;
  std::vector<std::string> class_names_;
  std::span<const std::uint8_t> images_;  ///< inside block_, as labels_
  std::span<const std::uint8_t> labels_;
  HostBlock block_;
};

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
  HostBlock block = HostBlock::share(world, unpacked_size(files),
                                     [&](std::span<std::byte> bytes) { unpack(files, bytes); });
  std::unique_ptr<Dataset> dataset;
  world.agree([&] { dataset = make_idx_dataset(description, files, std::move(block)); });
  return dataset;
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
  return std::make_unique<IdxDataset>(description, images, labels, std::move(block));
}

DatasetPair open_idx_datasets(const World& world, const IdxDescription& description,
                              const std::string& directory) {
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

}  // namespace lockstep
