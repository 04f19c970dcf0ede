#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "data/feed/host_block.h"
#include "data/files/packed_file.h"
#include "lockstep/dataset.h"

namespace lockstep {

/// The binary version of CIFAR (https://www.cs.toronto.edu/~kriz/cifar.html): records of `label_bytes` bytes,
/// of which the last is the class, then 32x32 pixels of red, of green and of blue.
struct CifarDescription {
  std::string name;
  std::string folder;  ///< that the archive unpacks to
  std::vector<std::string> train_files;
  std::vector<std::string> test_files;
  std::size_t label_bytes = 1;
  int classes = 10;
  std::string names_file;  ///< names of the classes, one per line; need not exist
};

/// Some of the files, found and measured but not read.
class CifarSplit {
 public:
  /// Throws Error(data) for files that are missing, empty or hold no whole number of records.
  CifarSplit(const CifarDescription& description, const std::filesystem::path& directory,
             const std::vector<std::string>& files);

  /// Bytes of memory that unpack() fills.
  std::size_t size() const;
  void unpack(std::span<std::byte> destination) const;
  const std::vector<PackedFile>& files() const { return files_; }

 private:
  std::vector<PackedFile> files_;
};

/// The checked data set in `block`, which `split` was unpacked into. Throws Error(data) naming file and byte
/// of a class that is out of range.
std::unique_ptr<Dataset> make_cifar_dataset(const CifarDescription& description, const CifarSplit& split,
                                            HostBlock block, std::vector<std::string> class_names);

/// Opens both splits; see open_dataset. The folder may also be the one that holds `description.folder`.
/// Collective.
DatasetPair open_cifar(const World& world, const CifarDescription& description, const std::string& directory);

}  // namespace lockstep
