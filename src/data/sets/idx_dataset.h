#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "data/feed/host_block.h"
#include "data/files/packed_file.h"
#include "lockstep/dataset.h"

namespace lockstep {

/// What an IDX data set looks like. Files are `<split>-images-idx3-ubyte` and `<split>-labels-idx1-ubyte`,
/// plain or with .gz, where split is train or t10k.
struct IdxDescription {
  std::string name;
  Shape shape;
  int classes = 0;
  std::string default_directory;  ///< empty: none
  std::string advice;             ///< for errors: how to get the files
  std::vector<std::string> class_names = {};
};

/// The two files of one split, found and measured but not read.
class IdxSplit {
 public:
  /// Throws Error(data) for files that are missing or of an impossible size.
  IdxSplit(const std::filesystem::path& directory, const std::string& split, const std::string& advice);

  /// Bytes of memory that unpack() fills.
  std::size_t size() const { return images_.size() + labels_.size(); }
  void unpack(std::span<std::byte> destination) const;

  const PackedFile& images() const { return images_; }
  const PackedFile& labels() const { return labels_; }

 private:
  PackedFile images_;
  PackedFile labels_;
};

/// The checked data set in `block`, which `split` was unpacked into. Throws Error(data): wrong magic number
/// or size, counts that differ, images of another size than `description` says, none at all, a label
/// out of range.
std::unique_ptr<Dataset> make_idx_dataset(const IdxDescription& description, const IdxSplit& split,
                                          HostBlock block);

/// Opens both splits; see open_dataset. Collective.
DatasetPair open_idx_datasets(const World& world, const IdxDescription& description,
                              const std::string& directory);

}  // namespace lockstep
