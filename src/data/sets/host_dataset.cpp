#include "data/sets/host_dataset.h"

#include "lockstep/world.h"

namespace lockstep {
namespace {

std::size_t unpacked_size(const std::vector<PackedFile>& files) {
  std::size_t size = 0;
  for (const PackedFile& file : files) size += file.size();
  return size;
}

void unpack_files(const std::vector<PackedFile>& files, std::span<std::byte> destination) {
  for (const PackedFile& file : files) {
    file.unpack(destination.first(file.size()));
    destination = destination.subspan(file.size());
  }
}

}  // namespace

HostBlock::HostBlock(const std::vector<PackedFile>& files)
    : own_(std::make_unique_for_overwrite<std::byte[]>(unpacked_size(files))),
      bytes_(own_.get(), unpacked_size(files)) {
  unpack_files(files, bytes_);
}

HostBlock::HostBlock(const World& world, const std::vector<PackedFile>& files) {
  const std::size_t size = unpacked_size(files);
  if (world.size() > 1) shared_ = SharedMemory::create(world, size);
  if (shared_) bytes_ = {shared_->data(), size};
  world.agree([&] {
    if (!shared_) {
      *this = HostBlock(files);
    } else if (world.local_rank() == 0) {
      unpack_files(files, bytes_);
    }
  });
}

}  // namespace lockstep
