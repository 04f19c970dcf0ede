#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "data/augment/randaugment.h"
#include "data/feed/micro_batch_rule.h"
#include "data/image/image.h"
#include "lockstep/dataset.h"
#include "lockstep/input.h"

namespace lockstep {

/// Preparation of a data set's samples for the network. Immutable: safe from any thread.
class Transform {
 public:
  /// `augment`, with random numbers drawn from `seed`, is for training only. Throws Error(usage) for options
  /// that are invalid, or impossible for this data set.
  Transform(const InputOptions& options, const Dataset& dataset, const AugmentOptions& augment = {},
            std::uint64_t seed = 0);

  /// Augmentations; none in evaluation.
  const AugmentOptions& augment() const { return augment_; }
  /// Rule of the micro-batches, in the data set's order.
  const MicroBatchRule& rule() const { return rule_; }
  /// Format of prepared samples, with means and deviations in this object's memory.
  SampleFormat format() const;
  /// Part of an image of `size` pixels that is resized to the network's input.
  Box frame(ImageSize size, const SampleVisit& visit) const;
  /// Whether augmentations change the resized pixels.
  bool changes_pixels() const;
  /// Augments the resized pixels in place: crop, flip, RandAugment, cutout. `scratch`: the executor's buffer,
  /// which only grows.
  void augment_pixels(Planes image, const SampleVisit& visit, const PixelPlacement& placement,
                      std::vector<std::uint8_t>& scratch) const;
  /// Whether samples are mixed with partners.
  bool mixes() const { return rule_.mixes(); }
  /// Per channel; both empty: values are not normalised.
  std::span<const float> mean() const { return mean_; }
  std::span<const float> deviation() const { return deviation_; }

 private:
  Shape shape_;
  bool floats_;
  double crop_share_;
  AugmentOptions augment_;
  MicroBatchRule rule_;
  std::optional<RandAugment> randaugment_;
  std::vector<float> mean_;
  std::vector<float> deviation_;
};

}  // namespace lockstep
