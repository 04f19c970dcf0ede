#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>

#include "comm/transports/shared_memory.h"

namespace lockstep {

class World;

/// Read-only bytes that are equal on the ranks of a host: one copy per host if it can be shared, else one per
/// rank.
class HostBlock {
 public:
  using Fill = std::function<void(std::span<std::byte>)>;

  /// Makes a copy for this rank alone.
  HostBlock(std::size_t bytes, const Fill& fill);
  /// Collective; `bytes` is equal on all ranks of a host. `fill` runs on the first rank of each host, or on
  /// every rank with its own copy; all ranks throw its exception.
  static HostBlock share(const World& world, std::size_t bytes, const Fill& fill);

  std::span<const std::byte> bytes() const;

 private:
  explicit HostBlock(std::unique_ptr<SharedMemory> shared);

  std::unique_ptr<SharedMemory> shared_;
  std::unique_ptr<std::byte[]> own_;
  std::size_t bytes_ = 0;
};

}  // namespace lockstep
