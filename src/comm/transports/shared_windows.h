#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "comm/transports/shared_memory.h"
#include "core/awaited_counter.h"
#include "watch/watch.h"

namespace lockstep {

/// One staging window per rank in shared memory, in two halves. Exchanges run in rounds: a rank fills a half
/// of its own window, publishes it, and reads the peers' halves; it refills a half only after every peer has
/// reported having read it. All ranks go through the same rounds; a rank may stage one round ahead of the
/// round it reads.
class SharedWindows {
 public:
  /// Makes the windows of the ranks of `host`, which are all on one host. Callers report exchanges to
  /// `watch`, which must outlive the windows. Null if the ranks cannot share memory. Collective.
  static std::unique_ptr<SharedWindows> create(const MpiGroup& host, Watch& watch);

  Watch& watch() const { return watch_; }
  /// Bytes that a rank can stage per round.
  std::size_t half_bytes() const { return half_bytes_; }

  /// Fills this rank's half for the next round by `fill(half)` and publishes it.
  template <typename Fill>
  void stage(const Fill& fill) {
    fill(begin_stage());
    end_stage();
  }
  /// Waits until the peers have staged the next round. Memory from staged_by() is valid until end_use().
  void begin_use();
  const std::byte* staged_by(std::size_t peer) const { return half(peer, used_); }
  void end_use();

  /// Runs `rounds` rounds. `stage_round(round, half)` fills this rank's half; `use(round)` reads the peers'
  /// halves through `staged_by`. Staging is one round ahead of use.
  template <typename Stage, typename Use>
  void run(std::size_t rounds, const Stage& stage_round, const Use& use) {
    if (rounds > 0) stage([&](std::byte* half) { stage_round(0, half); });
    for (std::size_t round = 0; round < rounds; ++round) {
      if (round + 1 < rounds) stage([&](std::byte* half) { stage_round(round + 1, half); });
      begin_use();
      use(round);
      end_use();
    }
  }
  /// Waits until all peers have called it.
  void barrier();

 private:
  struct Flags {
    alignas(64) AwaitedCounter staged;  ///< number of rounds that the rank has staged
    alignas(64) AwaitedCounter used;    ///< number of rounds that the rank has read
  };

  SharedWindows(std::unique_ptr<SharedMemory> memory, Watch& watch, std::size_t rank, std::size_t size,
                std::size_t half_bytes);

  Flags& flags(std::size_t rank) const;
  std::byte* half(std::size_t rank, std::uint32_t round) const;
  /// Waits until every peer's `counter` has reached `round`; counters may wrap around.
  void await(AwaitedCounter Flags::*counter, std::uint32_t round);

  std::byte* begin_stage();
  void end_stage();

  std::unique_ptr<SharedMemory> memory_;
  Watch& watch_;
  std::size_t rank_, size_, half_bytes_;
  std::uint32_t staged_ = 0, used_ = 0;
};

}  // namespace lockstep
