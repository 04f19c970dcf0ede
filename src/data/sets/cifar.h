#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "data/sets/host_dataset.h"

namespace lockstep {

/// Description of a binary version of CIFAR (https://www.cs.toronto.edu/~kriz/cifar.html). A record has
/// `label_bytes` bytes, the last of which is the class, then 32x32 pixels of red, of green and of blue.
struct CifarDescription {
  std::string name;
  std::string folder;  ///< name of the archive's folder
  std::vector<std::string> train_files;
  std::vector<std::string> test_files;
  std::size_t label_bytes = 1;
  int classes = 10;
  std::string names_file;  ///< optional file with names of the classes, one per line
};

/// Finds the files `names` in `directory`, without reading them. Throws Error(data) for a file that is
/// missing, empty or does not consist of whole records.
std::vector<PackedFile> find_cifar_files(const CifarDescription& description,
                                         const std::filesystem::path& directory,
                                         const std::vector<std::string>& names);

/// Data set in `block`, which must hold the unpacked contents of `files`. Throws Error(data) naming file and
/// byte of a class that is out of range.
std::unique_ptr<Dataset> make_cifar_dataset(const CifarDescription& description,
                                            const std::vector<PackedFile>& files, HostBlock block,
                                            std::vector<std::string> class_names);

}  // namespace lockstep
