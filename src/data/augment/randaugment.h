#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/augment/draws.h"
#include "data/augment/pixels.h"

namespace lockstep {

/// N random operations of one magnitude, each chosen uniformly from 14 (Cubuk et al., "RandAugment: Practical
/// automated data augmentation with a reduced search space", 2020), with torchvision's 31 magnitudes.
/// Immutable: safe from any thread.
class RandAugment {
 public:
  /// `text`: "rand-mM-nN". Throws Error(usage) for any other text.
  explicit RandAugment(const std::string& text);
  /// Changes `image` in place; `scratch` is overwritten.
  void apply(Planes image, const SampleVisit& visit, std::vector<std::uint8_t>& scratch) const;

 private:
  /// Magnitude on a scale from 0 to `max`.
  double magnitude(double max) const;
  /// Applies operation number `operation`; operations without a direction ignore `sign`.
  void apply(int operation, double sign, Planes image, std::vector<std::uint8_t>& scratch) const;

  int magnitude_ = 0;
  int count_ = 0;
};

}  // namespace lockstep
