#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "comm/transports/shared_memory.h"
#include "data/files/packed_file.h"
#include "lockstep/dataset.h"

namespace lockstep {

/// Unpacked contents of files, concatenated. There is one copy per host if memory can be shared, else one per
/// rank.
class HostBlock {
 public:
  /// Makes a copy for this rank alone.
  explicit HostBlock(const std::vector<PackedFile>& files);
  /// Collective; `files` must be equal on all ranks of a host. The first rank of each host unpacks them into
  /// shared memory; without shared memory, every rank unpacks a copy. Errors are thrown on all ranks.
  HostBlock(const World& world, const std::vector<PackedFile>& files);

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::unique_ptr<SharedMemory> shared_;
  std::unique_ptr<std::byte[]> own_;
  std::span<std::byte> bytes_;  ///< view of `shared_` or `own_`
};

/// Images in a HostBlock; each image has a label of one byte.
class HostDataset final : public Dataset {
 public:
  struct Images {
    std::uint64_t size = 0;
    Shape shape = {};
    int classes = 0;
    std::vector<std::string> class_names = {};
    // Addresses in the block, and strides: bytes from one sample to the next.
    const std::uint8_t* pixels = nullptr;
    std::size_t pixel_stride = 0;
    const std::uint8_t* labels = nullptr;
    std::size_t label_stride = 1;
  };

  HostDataset(Images images, HostBlock block) : images_(std::move(images)), block_(std::move(block)) {}

  std::uint64_t size() const override { return images_.size; }
  Shape shape() const override { return images_.shape; }
  int classes() const override { return images_.classes; }
  std::span<const std::uint8_t> sample(std::uint64_t id,
                                       std::vector<std::uint8_t>& /*buffer*/) const override {
    return {images_.pixels + id * images_.pixel_stride, images_.shape.size()};
  }
  int label(std::uint64_t id) const override { return images_.labels[id * images_.label_stride]; }
  std::vector<std::string> class_names() const override { return images_.class_names; }

 private:
  Images images_;
  HostBlock block_;
};

}  // namespace lockstep
