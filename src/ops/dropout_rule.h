#pragma once

#include <array>
#include <cmath>
#include <cstdint>

#include "core/host_device.h"
#include "core/random/philox.h"
#include "data/feed/micro_batch.h"

namespace lockstep {

/// Selects the elements that a dropout layer drops, and scales the others.
struct DropoutRule {
  std::uint32_t position = 0;  ///< position of the layer in the graph, so that each layer draws other numbers
  std::uint32_t threshold = 0;  ///< elements whose 24-bit number is below the threshold are dropped
  float scale = 1.0F;

  /// Random numbers for elements [4 block, 4 block + 4) of a sample, in [channel][row][column] order. The
  /// counter is (purpose, layer and upper bits of the sample id; epoch; lower bits of the sample id; block).
  LOCKSTEP_HD std::array<std::uint32_t, 4> numbers(const RandomKey& random, std::uint64_t sample,
                                                   std::uint32_t block) const {
    const std::uint32_t purpose = static_cast<std::uint32_t>(Purpose::dropout) | position << 8 |
                                  static_cast<std::uint32_t>(sample >> 32) << 24;
    return philox(random.seed, {purpose, random.epoch, static_cast<std::uint32_t>(sample), block});
  }
  LOCKSTEP_HD bool keeps(std::uint32_t number) const { return number >> 8 >= threshold; }
};

/// Rule for a layer at `position` of the graph that drops elements with probability `p`.
inline DropoutRule dropout_rule(double p, int position) {
  return {.position = static_cast<std::uint32_t>(position),
          .threshold = static_cast<std::uint32_t>(std::lround(p * 16777216.0)),
          .scale = static_cast<float>(1.0 / (1.0 - p))};
}

}  // namespace lockstep
