#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "data/sets/host_dataset.h"

namespace lockstep {

/// Description of an IDX data set. Its files are SPLIT-images-idx3-ubyte and SPLIT-labels-idx1-ubyte, plain
/// or with .gz, where SPLIT is train or t10k.
struct IdxDescription {
  std::string name;
  Shape shape;
  int classes = 0;
  std::string default_directory;  ///< empty: none
  std::string advice;             ///< end of error messages: how to get the files
  std::vector<std::string> class_names = {};
};

/// Finds the image file and the label file of one split, without reading them. Throws Error(data) for a file
/// that is missing or has an impossible size.
std::vector<PackedFile> find_idx_files(const std::filesystem::path& directory, const std::string& split,
                                       const std::string& advice);

/// Data set in `block`, which must hold the unpacked contents of `files`. Throws Error(data) for a wrong
/// magic number or size, different numbers of images and labels, no images, images of another size than
/// `description` says, and a label out of range.
std::unique_ptr<Dataset> make_idx_dataset(const IdxDescription& description,
                                          const std::vector<PackedFile>& files, HostBlock block);

}  // namespace lockstep
