#include "data/feed/host_block.h"

#include <optional>

#include "lockstep/world.h"

namespace lockstep {

HostBlock::HostBlock(std::size_t bytes, const Fill& fill)
    : own_(std::make_unique_for_overwrite<std::byte[]>(bytes)), bytes_(bytes) {
  fill({own_.get(), bytes_});
}

HostBlock::HostBlock(std::unique_ptr<SharedMemory> shared)
    : shared_(std::move(shared)), bytes_(shared_->bytes()) {}

HostBlock HostBlock::share(const World& world, std::size_t bytes, const Fill& fill) {
  std::unique_ptr<SharedMemory> shared;
  if (world.size() > 1) {
    shared = SharedMemory::create(world, bytes);
  }
  std::optional<HostBlock> block;
  world.agree([&] {
    if (!shared) {
      block = HostBlock(bytes, fill);
    } else if (world.local_rank() == 0) {
      fill({shared->data(), bytes});
    }
  });
  return shared ? HostBlock(std::move(shared)) : std::move(*block);
}

std::span<const std::byte> HostBlock::bytes() const {
  return {shared_ ? shared_->data() : own_.get(), bytes_};
}

}  // namespace lockstep
