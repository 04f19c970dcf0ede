#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace lockstep {

class World;

/// Transfer of data from all ranks to rank 0 beside their other work. Called by the thread of the world,
/// which outlives it.
class BackgroundGather {
 public:
  /// Collective.
  explicit BackgroundGather(const World& world);
  /// MPI may access the memory of an unfinished transfer, as after an error, until the process ends.
  ~BackgroundGather();
  BackgroundGather(const BackgroundGather&) = delete;
  BackgroundGather& operator=(const BackgroundGather&) = delete;

  /// Begins to send `own` to rank 0. On rank 0, `parts[i]` receives the data of rank i, in the same order;
  /// parts[0] is ignored. The memory must neither move nor change until the transfer is done. The previous
  /// transfer must be done.
  void start(std::span<const std::span<const std::byte>> own,
             std::span<const std::vector<std::span<std::byte>>> parts);
  /// Advances the transfer without waiting. Returns whether this rank's part of the transfer is done.
  bool poll();
  /// Whether a transfer was started, and poll() and wait() have not yet reported its end.
  bool pending() const;
  /// Waits until poll() returns true. Called by all ranks, even if nothing is left to wait for.
  void wait();
  /// Gathers numbers of all ranks in rank order in `all`, on rank 0; elsewhere it may be empty. `counts`: how
  /// many each rank has, the same on all ranks. The previous transfer must be done. Collective.
  void gather(std::span<const float> own, std::span<const std::size_t> counts, std::span<float> all);

 private:
  struct Transfer;
  std::unique_ptr<Transfer> transfer_;
};

}  // namespace lockstep
