#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "data/augment/augmentation.h"
#include "data/feed/micro_batch_rule.h"
#include "data/image/image.h"
#include "lockstep/dataset.h"
#include "lockstep/input.h"

namespace lockstep {

/// What is done to the samples of one data set on their way into the network. Immutable, shared by all
/// executors.
class Transform {
 public:
  /// `augment`, drawn from `seed`: for training only. Throws Error(usage) for options that are impossible, or
  /// impossible for this data set.
  Transform(const InputOptions& options, const Dataset& dataset, const AugmentOptions& augment = {},
            std::uint64_t seed = 0);

  /// Random changes: none in evaluation.
  const AugmentOptions& augment() const { return augment_; }
  /// Rule of the micro-batches, in the data set's own order.
  const MicroBatchRule& rule() const { return rule_; }
  /// Layout of the samples once they are changed, with means and deviations in this object's memory.
  SampleFormat format() const;
  /// The part of an image of this size that is resized to what the network sees.
  Box frame(ImageSize size, const SampleVisit& visit) const;
  /// Whether samples that are pixels already are cut and resized too.
  bool reframes_pixels() const { return augment_.random_resized_crop; }
  /// Changes of its pixels that follow, in this order.
  std::span<const std::unique_ptr<Augmentation>> augmentations() const { return augmentations_; }
  /// Whether samples are mixed with partners.
  bool mixes() const { return rule_.mixes(); }
  /// Per channel; both empty where values stay as they are.
  std::span<const float> mean() const { return mean_; }
  std::span<const float> deviation() const { return deviation_; }

 private:
  Shape shape_;
  bool floats_;
  double crop_share_;
  AugmentOptions augment_;  ///< none in evaluation
  MicroBatchRule rule_;
  std::vector<std::unique_ptr<Augmentation>> augmentations_;
  std::vector<float> mean_;
  std::vector<float> deviation_;
};

}  // namespace lockstep
