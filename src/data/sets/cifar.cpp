#include "data/sets/cifar.h"

#include <fmt/format.h>

#include <sstream>

#include "core/files/file.h"
#include "core/text/as_text.h"
#include "data/sets/registry.h"
#include "lockstep/error.h"
#include "lockstep/world.h"

namespace lockstep {
namespace {

constexpr Shape cifar_shape = {.channels = 3, .height = 32, .width = 32};

std::size_t record_bytes(const CifarDescription& description) {
  return description.label_bytes + cifar_shape.size();
}

bool file_exists(const std::filesystem::path& path) { return file_kind(path) != FileKind::missing; }

std::filesystem::path find_folder(const CifarDescription& description, const std::string& directory) {
  if (directory.empty()) {
    throw Error(Category::usage,
                fmt::format("data set '{0}' has no default folder: unpack its binary version and name the "
                            "folder {1}",
                            description.name, description.folder),
                "data-dir");
  }
  const std::filesystem::path inner = std::filesystem::path(directory) / description.folder;
  return file_exists(inner) ? inner : std::filesystem::path(directory);
}

std::vector<std::string> read_class_names(const CifarDescription& description,
                                          const std::filesystem::path& directory) {
  std::vector<std::string> names;
  const std::filesystem::path file = directory / description.names_file;
  if (file_exists(file)) {
    std::istringstream lines{std::string(as_text(read_file(file)))};
    for (std::string name; names.size() < static_cast<std::size_t>(description.classes) && lines >> name;) {
      names.push_back(name);
    }
  }
  if (names.size() != static_cast<std::size_t>(description.classes)) {
    names.clear();
  }
  return names;
}

std::unique_ptr<Dataset> open_split(const World& world, const CifarDescription& description,
                                    const std::filesystem::path& directory,
                                    const std::vector<std::string>& names) {
  std::vector<PackedFile> files;
  world.agree([&] { files = find_cifar_files(description, directory, names); });
  HostBlock block(world, files);
  std::unique_ptr<Dataset> dataset;
  world.agree([&] {
    dataset =
        make_cifar_dataset(description, files, std::move(block), read_class_names(description, directory));
  });
  return dataset;
}

/// Collective. `directory` is the archive's folder, or the folder that contains it.
DatasetPair open_cifar(const World& world, const CifarDescription& description,
                       const std::string& directory) {
  std::filesystem::path folder;
  world.agree([&] { folder = find_folder(description, directory); });
  DatasetPair pair;
  pair.train = open_split(world, description, folder, description.train_files);
  pair.test = open_split(world, description, folder, description.test_files);
  return pair;
}

}  // namespace

std::vector<PackedFile> find_cifar_files(const CifarDescription& description,
                                         const std::filesystem::path& directory,
                                         const std::vector<std::string>& names) {
  std::vector<PackedFile> files;
  for (const std::string& name : names) {
    if (!file_exists(directory / name)) {
      throw Error(Category::data,
                  fmt::format("{}: no {} there; the binary version of {} unpacks to a folder {}, which "
                              "must be named",
                              directory.string(), name, description.name, description.folder));
    }
    files.emplace_back(directory / name);
    const std::size_t bytes = files.back().size();
    if (bytes == 0 || bytes % record_bytes(description) != 0) {
      throw Error(Category::data,
                  fmt::format("{}: {} bytes are not a multiple of the length of {}'s records, {} bytes",
                              files.back().name(), bytes, description.name, record_bytes(description)));
    }
  }
  return files;
}

std::unique_ptr<Dataset> make_cifar_dataset(const CifarDescription& description,
                                            const std::vector<PackedFile>& files, HostBlock block,
                                            std::vector<std::string> class_names) {
  std::size_t begin = 0;
  for (const PackedFile& file : files) {
    const auto bytes = block.bytes().subspan(begin, file.size());
    for (std::size_t at = description.label_bytes - 1; at < bytes.size(); at += record_bytes(description)) {
      if (const int label = std::to_integer<int>(bytes[at]); label >= description.classes) {
        throw Error(Category::data,
                    fmt::format("{}: class {} at byte {} is out of range, {} has 0 to {}", file.name(), label,
                                at, description.name, description.classes - 1));
      }
    }
    begin += file.size();
  }
  const std::size_t stride = record_bytes(description);
  const auto* const pixels =
      reinterpret_cast<const std::uint8_t*>(block.bytes().data()) + description.label_bytes;
  return std::make_unique<HostDataset>(HostDataset::Images{.size = block.bytes().size() / stride,
                                                           .shape = cifar_shape,
                                                           .classes = description.classes,
                                                           .class_names = std::move(class_names),
                                                           .pixels = pixels,
                                                           .pixel_stride = stride,
                                                           .labels = pixels - 1,
                                                           .label_stride = stride},
                                       std::move(block));
}

/// 32x32 colour images in 10 classes, 50,000 for training and 10,000 for testing (Krizhevsky, 2009).
DatasetPair open_cifar10(const World& world, const DatasetOptions& options, DataUse /*use*/) {
  return open_cifar(world,
                    {.name = "cifar10",
                     .folder = "cifar-10-batches-bin",
                     .train_files = {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
                                     "data_batch_4.bin", "data_batch_5.bin"},
                     .test_files = {"test_batch.bin"},
                     .label_bytes = 1,
                     .classes = 10,
                     .names_file = "batches.meta.txt"},
                    options.directory);
}

/// 32x32 colour images in 100 classes (the "fine" labels), 50,000 for training and 10,000 for testing
/// (Krizhevsky, 2009).
DatasetPair open_cifar100(const World& world, const DatasetOptions& options, DataUse /*use*/) {
  return open_cifar(world,
                    {.name = "cifar100",
                     .folder = "cifar-100-binary",
                     .train_files = {"train.bin"},
                     .test_files = {"test.bin"},
                     .label_bytes = 2,
                     .classes = 100,
                     .names_file = "fine_label_names.txt"},
                    options.directory);
}

}  // namespace lockstep
