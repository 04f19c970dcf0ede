#pragma once

#include <cstddef>
#include <memory>

#include "comm/world/mpi_handles.h"

namespace lockstep {

class World;

/// Zeroed memory shared by the ranks of one host: a memfd of the host's first rank, which the others open
/// through /proc, so that the size of /dev/shm in a container is no limit.
class SharedMemory {
 public:
  /// Collective over the ranks of each host. Null on all ranks of a host if one of them cannot map the
  /// memory.
  static std::unique_ptr<SharedMemory> create(const World& world, std::size_t bytes);
  /// Same as above, for `host`, the ranks of one host.
  static std::unique_ptr<SharedMemory> create(const MpiGroup& host, std::size_t bytes);
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  std::byte* data() const { return data_; }

 private:
  SharedMemory(std::byte* data, std::size_t bytes) : data_(data), bytes_(bytes) {}
  std::byte* data_;
  std::size_t bytes_;
};

}  // namespace lockstep
