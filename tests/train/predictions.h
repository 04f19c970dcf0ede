#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "lockstep/evaluation.h"
#include "train/small_run.h"

namespace lockstep::test {

inline EvaluationOptions in_micro_batches_of(int samples, ExecutionOptions execution = {.threads = 1}) {
  return {.batch = {.size = samples, .micro_batches = 1}, .execution = std::move(execution)};
}

/// All blocks of a prediction, concatenated.
struct Predicted {
  std::vector<float> values;
  std::vector<std::uint64_t> unreadable;
  std::vector<std::string> reasons;
  std::uint64_t samples = 0;
  std::uint64_t blocks = 0;

  Predicted(const World& world, const Network& network, const Dataset& dataset,
            const EvaluationOptions& options) {
    predict(world, network, first_values(network), dataset, options, [&](const OutputBlock& block) {
      EXPECT_EQ(block.first, samples);
      EXPECT_EQ(block.values.size(), block.samples * static_cast<std::size_t>(network.classes()));
      samples += block.samples;
      ++blocks;
      values.insert(values.end(), block.values.begin(), block.values.end());
      for (const auto& [sample, reason, is_not_finite] : block.unreadable) {
        EXPECT_FALSE(is_not_finite) << reason;
        EXPECT_TRUE(sample >= block.first && sample < block.first + block.samples);
        unreadable.push_back(sample);
        reasons.push_back(reason);
      }
    });
  }

  /// Bits of `values`, for comparisons in which NaN equals itself.
  std::vector<std::uint32_t> bits() const {
    std::vector<std::uint32_t> words;
    for (const float value : values) words.push_back(std::bit_cast<std::uint32_t>(value));
    return words;
  }
  /// Outputs of one sample.
  std::span<const float> of(std::uint64_t sample) const {
    const std::size_t count = values.size() / samples;
    return std::span(values).subspan(sample * count, count);
  }
};

}  // namespace lockstep::test
