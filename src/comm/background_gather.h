#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace lockstep {

class World;

/// Transfers data from all ranks to rank 0 concurrently with their other work. To be called on the thread
/// that uses the world; the world must outlive this object.
class BackgroundGather {
 public:
  /// Collective.
  explicit BackgroundGather(const World& world);
  /// After an unfinished transfer (an error), MPI may access its memory until the process ends.
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
  /// Waits until poll() returns true. All ranks must call it, even if nothing is left to wait for.
  void wait();
  /// Gathers the numbers of all ranks, in rank order, into `all` on rank 0; on other ranks `all` may be
  /// empty. `counts`: how many each rank has, the same on all ranks. The previous transfer must be done.
  /// Collective.
  void gather(std::span<const float> own, std::span<const std::size_t> counts, std::span<float> all);

 private:
  struct Transfer;
  std::unique_ptr<Transfer> transfer_;
};

}  // namespace lockstep
