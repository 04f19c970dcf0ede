#pragma once

#include <array>
#include <cstdint>

#include "core/host_device.h"

namespace lockstep {

/// Purpose of a random number: word 0 of every counter, so that no two purposes share numbers. Values must
/// never change, because results of runs depend on them; 22 belonged to a purpose that was removed.
enum class Purpose : std::uint32_t {
  parameters = 1,  ///< initial weights
  order = 2,       ///< order of the samples in an epoch
  dropout = 3,     ///< elements that dropout zeroes
  synthetic = 4,   ///< pixels of synthetic images
  crop = 16,       ///< position of a random crop
  resized_crop = 17,
  flip = 18,
  cutout = 19,
  mixup = 20,
  randaugment = 21,
  statistics = 23,  ///< choice of the images whose mean and deviation are measured
};

/// Philox 4x32-10 (Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011):
/// a keyed bijection of 128-bit counters, without state.
LOCKSTEP_HD inline std::array<std::uint32_t, 4> philox(std::uint64_t key,
                                                       std::array<std::uint32_t, 4> counter) {
  constexpr std::uint64_t multiplier_0 = 0xD2511F53;
  constexpr std::uint64_t multiplier_1 = 0xCD9E8D57;
  auto key_0 = static_cast<std::uint32_t>(key);
  auto key_1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product_0 = multiplier_0 * counter[0];
    const std::uint64_t product_1 = multiplier_1 * counter[2];
    counter = {static_cast<std::uint32_t>(product_1 >> 32) ^ counter[1] ^ key_0,
               static_cast<std::uint32_t>(product_1),
               static_cast<std::uint32_t>(product_0 >> 32) ^ counter[3] ^ key_1,
               static_cast<std::uint32_t>(product_0)};
    key_0 += 0x9E3779B9;
    key_1 += 0xBB67AE85;
  }
  return counter;
}

/// Uniform number in [0, 1) with 24 bits, exact in float.
LOCKSTEP_HD inline float uniform(std::uint32_t bits) { return static_cast<float>(bits >> 8) * 0x1p-24F; }

}  // namespace lockstep
