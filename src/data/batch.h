#pragma once

#include <cstdint>
#include <span>

namespace lockstep {

/// What random numbers of a step depend on, beside the sample.
struct RandomKey {
  std::uint64_t seed = 0;
  std::uint32_t epoch = 0;
};

/// One micro-batch on the host, for a plan to load. All spans that are not empty have one entry per sample,
/// but `mean` and `deviation`: one per channel.
///
/// The network's input is (value - mean) / deviation of its channel, where value is pixel / 255 or the float
/// itself; each step is rounded once to float. Where there are partners, it is
/// fma(share, own, (1 - share) * partner) of two such values, and the target is the same mixture of labels.
struct Batch {
  std::span<const std::uint8_t* const> images = {};  ///< pixels, [channel][row][column]; empty: floats
  std::span<const float* const> floats = {};         ///< values in the same order; empty: images
  std::span<const std::int32_t> labels = {};
  std::span<const float> mean = {};                        ///< empty: 0, and deviation 1
  std::span<const float> deviation = {};                   ///< positive
  std::span<const std::uint8_t* const> other_images = {};  ///< of the partners; empty: no mixing
  std::span<const float* const> other_floats = {};
  std::span<const std::int32_t> other_labels = {};
  std::span<const float> share = {};        ///< of the sample itself, in [0, 1]; its partner has the rest
  std::span<const std::uint64_t> ids = {};  ///< of the samples: what dropout depends on
  RandomKey random = {};

  std::size_t samples() const { return labels.size(); }
};

}  // namespace lockstep
