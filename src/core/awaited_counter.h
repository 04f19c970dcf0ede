#pragma once

#include <atomic>
#include <chrono>
#include <concepts>
#include <cstdint>

namespace lockstep {

/// How long a thread spins before it blocks. While it spins, it uses up its share of a core that others want;
/// once it blocks, a virtual machine may take 50 us to wake it. Measured with LeNet on two cores: 30, 100 and
/// 300 us are equally fast on an idle machine; four ranks lose 5 to 10 % with 100 us.
inline constexpr std::chrono::microseconds spin_time{30};
/// How long a thread blocks at most before it looks again whether who it waits for is alive.
inline constexpr std::chrono::milliseconds block_time{20};

/// Who changes a counter, and waits for it.
enum class Sharing { threads, processes };

/// A counter that threads wait for: of one process, or of several that share the memory it lies in. Zero
/// bytes are a counter of 0. It may wrap around: values that are compared lie less than 2^31 apart.
class AwaitedCounter {
 public:
  std::uint32_t value() const { return value_.load(std::memory_order_acquire); }
  bool has_reached(std::uint32_t target) const { return static_cast<std::int32_t>(value() - target) >= 0; }

  /// What was written before is seen by those who find the counter advanced. Returns the new value.
  std::uint32_t advance(Sharing sharing = Sharing::threads);

  /// Returns when the counter has reached `target`: spins for spin_time, then blocks until somebody advances
  /// it.
  void await(std::uint32_t target) {
    if (has_reached(target) || spin(target)) return;
    while (!block(target, Sharing::threads)) {
    }
  }
  /// The same, for a counter of several processes. Calls look() at least every block_time once it blocks;
  /// what that throws ends the wait.
  template <std::invocable Look>
  void await(std::uint32_t target, const Look& look) {
    if (has_reached(target) || spin(target)) return;
    while (!block(target, Sharing::processes)) look();
  }

 private:
  /// Whether the counter reached `target` meanwhile.
  bool spin(std::uint32_t target) const;
  bool block(std::uint32_t target, Sharing sharing);

  std::atomic<std::uint32_t> value_;
  std::atomic<std::uint32_t> blocked_;  ///< threads that somebody who advances it has to wake
  static_assert(std::atomic<std::uint32_t>::is_always_lock_free);
};

/// A wait for what cannot be blocked on and has to be asked: spins, then yields the core, then sleeps.
class Polling {
 public:
  /// To be called each time the answer was no. Whether it did more than spin.
  bool pause();

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

}  // namespace lockstep
