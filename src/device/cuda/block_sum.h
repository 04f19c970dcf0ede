#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "core/host_device.h"
#include "device/cuda/launch.h"

namespace lockstep::cuda {

/// A sum as 32-bit words, the unit of a GPU's shared memory and shuffles.
template <class Sum>
struct SumWords {
  static_assert(std::is_trivially_copyable_v<Sum> && sizeof(Sum) % sizeof(std::uint32_t) == 0);
  static constexpr unsigned count = sizeof(Sum) / sizeof(std::uint32_t);
  std::uint32_t words[count];
};

/// Number of threads that exchange words without shared memory.
constexpr unsigned warp_threads = 32;
static_assert(max_row_lanes <= warp_threads);
/// Slots of shared memory per word of a sum: 128 for the sums of threads 128 to 255, then 64, then 32.
constexpr unsigned block_sum_slots = row_threads - warp_threads;

/// Adds the sums of row_threads threads in the order of for_each_row: sum t adds sum t + 128, then t + 64,
/// ..., t + lanes. `lanes`: a power of two up to max_row_lanes. All threads call it; threads below `lanes`
/// receive a result. `Threads` is the calling thread among the others:
///
///   unsigned number()                             its number
///   void store(slot, word), word load(slot)       shared memory, SumWords<Sum>::count * block_sum_slots
///   words void wait()                                   until all threads have called it word
///   from_above(word, apart)                  the word of the thread `apart` above, in the same warp
///
/// Threads of a warp access adjacent slots, so their accesses to shared memory do not conflict.
template <class Sum, class Threads>
LOCKSTEP_HD Sum add_over_block(Sum own, unsigned lanes, const Threads& threads) {
  using Words = SumWords<Sum>;
  const unsigned t = threads.number();
  unsigned first = 0;  // slot
  for (unsigned apart = row_threads / 2; apart >= warp_threads; first += apart, apart /= 2) {
    if (t >= apart && t < 2 * apart) {
      const auto given = std::bit_cast<Words>(own);
      for (unsigned w = 0; w < Words::count; ++w) {
        threads.store(w * block_sum_slots + first + t - apart, given.words[w]);
      }
    }
    threads.wait();
    if (t < apart) {
      Words other;
      for (unsigned w = 0; w < Words::count; ++w) {
        other.words[w] = threads.load(w * block_sum_slots + first + t);
      }
      own += std::bit_cast<Sum>(other);
    }
  }
  if (t >= warp_threads) return own;
  for (unsigned apart = warp_threads / 2; apart >= lanes; apart /= 2) {
    const auto given = std::bit_cast<Words>(own);
    Words other;
    for (unsigned w = 0; w < Words::count; ++w) other.words[w] = threads.from_above(given.words[w], apart);
    own += std::bit_cast<Sum>(other);
  }
  return own;
}

}  // namespace lockstep::cuda
