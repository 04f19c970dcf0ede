#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace lockstep {

class World;

/// Transfer of data from all ranks to rank 0 while the ranks go on with other work. Calls come from the
/// thread of the world, which outlives it.
class BackgroundGather {
 public:
  /// Collective.
  explicit BackgroundGather(const World& world);
  /// A transfer that is not done, as after an error, goes on in its memory until the process ends.
  ~BackgroundGather();
  BackgroundGather(const BackgroundGather&) = delete;
  BackgroundGather& operator=(const BackgroundGather&) = delete;

  /// Begins to send `own` to rank 0. On rank 0, `parts[i]` is memory for what rank i sends, in the same
  /// order; its own parts are ignored. Memory must stay as it is until the transfer is done, and the last
  /// transfer must be done.
  void start(std::span<const std::span<const std::byte>> own,
             std::span<const std::vector<std::span<std::byte>>> parts);
  /// Moves the data on, without waiting. Returns whether this rank's part of the transfer is done.
  bool poll();
  /// Whether a transfer was started, and neither poll() nor wait() has said that it is done.
  bool pending() const;
  /// Waits until poll() is true. All ranks call it, also where nothing is left to wait for.
  void wait();

 private:
  struct Transfer;
  std::unique_ptr<Transfer> transfer_;
};

}  // namespace lockstep
