#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "data/augment/augmentation.h"
#include "data/image/image.h"
#include "lockstep/dataset.h"
#include "lockstep/input.h"

namespace lockstep {

/// What is done to the samples of one data set on their way into the network. Immutable, shared by all
/// executors.
class Transform {
 public:
  /// Random changes, for training only, and the seed that they are drawn from.
  struct Use {
    AugmentOptions augment = {};
    std::uint64_t seed = 0;
  };
  /// Throws Error(usage) for options that are impossible, or impossible for this data set.
  Transform(const InputOptions& options, const Dataset& dataset, const Use& use);

  std::uint64_t seed() const { return seed_; }
  /// Random changes: none in evaluation.
  const AugmentOptions& augment() const { return augment_; }
  /// The part of an image of this size that is resized to what the network sees.
  Box frame(ImageSize size, const SampleVisit& visit) const;
  /// Whether samples that are pixels already are cut and resized too.
  bool reframes_pixels() const { return augment_.random_resized_crop; }
  /// What is then done to its pixels, in this order.
  std::span<const std::unique_ptr<Augmentation>> augmentations() const { return augmentations_; }
  /// Whether micro-batches are mixed with themselves reversed; the share of a sample itself.
  bool mixes() const { return augment_.mixup > 0.0; }
  float share(std::uint32_t epoch, std::uint32_t number) const;
  /// Per channel; both empty where values stay as they are.
  std::span<const float> mean() const { return mean_; }
  std::span<const float> deviation() const { return deviation_; }

 private:
  std::uint64_t seed_;
  Shape shape_;
  double crop_share_;
  AugmentOptions augment_;  ///< none in evaluation
  std::vector<std::unique_ptr<Augmentation>> augmentations_;
  std::vector<float> mean_;
  std::vector<float> deviation_;
};

}  // namespace lockstep
