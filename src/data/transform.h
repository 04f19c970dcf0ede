#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lockstep/dataset.h"
#include "lockstep/input.h"

namespace lockstep {

/// What is done to the samples of one data set on their way into the network. Immutable, shared by all
/// executors.
class Transform {
 public:
  /// Evaluation: nothing random.
  struct Use {
    bool training = false;
    std::uint64_t seed = 0;
  };
  /// Throws Error(usage) for options that are impossible, or impossible for this data set.
  Transform(const InputOptions& options, const Dataset& dataset, Use use);

  std::uint64_t seed() const { return seed_; }
  /// Per channel; both empty where values stay as they are.
  std::span<const float> mean() const { return mean_; }
  std::span<const float> deviation() const { return deviation_; }

 private:
  std::uint64_t seed_;
  std::vector<float> mean_;
  std::vector<float> deviation_;
};

}  // namespace lockstep
