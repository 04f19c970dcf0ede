#pragma once

#include <cstdint>

#include "core/random/permutation.h"
#include "data/augment/mixup.h"
#include "data/augment/pixels.h"
#include "data/feed/micro_batch.h"
#include "lockstep/input.h"
#include "lockstep/shape.h"

namespace lockstep {

/// Determines the samples of micro-batches and the random numbers drawn for them, on host and device: order,
/// augmentations that move or blacken pixels, and mixing. Each random number is a function of (seed, epoch,
/// position or sample). A plain value, which kernels copy; safe from any thread.
struct MicroBatchRule {
  std::uint64_t samples = 0;  ///< number of the data set's samples
  std::uint64_t seed = 0;
  std::uint32_t epoch = 0;
  bool shuffled = false;  ///< whether samples are shuffled; false: in the data set's order
  KeyedPermutation order{};
  Shape shape{};  ///< shape of images
  // Values of AugmentOptions; 0: off.
  int crop_padding = 0;
  double flip = 0.0;
  int cutout = 0;
  double mixup = 0.0;

  /// Rule for epoch 0 of a data set with `samples` samples, in the data set's order.
  static MicroBatchRule make(const AugmentOptions& augment, Shape shape, std::uint64_t samples,
                             std::uint64_t seed) {
    return {.samples = samples,
            .seed = seed,
            .shape = shape,
            .crop_padding = augment.crop_padding,
            .flip = augment.hflip,
            .cutout = augment.cutout,
            .mixup = augment.mixup};
  }

  /// Shuffles the samples for epoch `number`.
  LOCKSTEP_HD void start_epoch(std::uint32_t number) {
    epoch = number;
    shuffled = true;
    order = keyed_permutation(samples, seed, number);
  }

  /// Sample at `position` of the epoch; position < samples.
  LOCKSTEP_HD std::uint64_t id(std::uint64_t position) const { return shuffled ? order(position) : position; }

  LOCKSTEP_HD SampleVisit visit(std::uint64_t id) const { return {.seed = seed, .epoch = epoch, .id = id}; }
  LOCKSTEP_HD PixelPlacement placement(std::uint64_t id) const {
    PixelPlacement placement;
    if (crop_padding > 0) {
      Draws draws(visit(id), Purpose::crop);
      placement.down = draws.below(2 * crop_padding + 1) - crop_padding;
      placement.right = draws.below(2 * crop_padding + 1) - crop_padding;
    }
    if (flip > 0.0) placement.flipped = Draws(visit(id), Purpose::flip).uniform() < flip;
    if (cutout > 0) {
      Draws draws(visit(id), Purpose::cutout);
      placement.cut_row = draws.below(shape.height) - cutout / 2;
      placement.cut_column = draws.below(shape.width) - cutout / 2;
    }
    return placement;
  }

  LOCKSTEP_HD bool mixes() const { return mixup > 0.0; }
  /// Weight of each sample against its partner in micro-batch `number` of the epoch; 1: no mixing.
  LOCKSTEP_HD float share(std::uint32_t number) const {
    return mixes() ? mixup_share(mixup, seed, epoch, number) : 1.0F;
  }
  /// Index of the sample that sample `i` of `size` samples is mixed with: the micro-batch is mixed with its
  /// reverse, as in timm. Partners are mutual.
  LOCKSTEP_HD static std::uint32_t partner(std::uint32_t i, std::uint32_t size) { return size - 1 - i; }

  /// Writes entry `i` of a micro-batch, except the sample's address. Different threads may write different
  /// entries.
  LOCKSTEP_HD void write(const MicroBatch& batch, std::uint32_t i, std::uint64_t id, const Target& target,
                         float share) const {
    if (i == 0) *batch.random = {.seed = seed, .epoch = epoch};
    batch.ids[i] = id;
    batch.labels[i] = target.label;
    for (std::uint32_t k = 0; k < batch.target_count; ++k) {
      batch.targets[std::size_t{i} * batch.target_count + k] = target.values[k];
    }
    if (!batch.mixes()) return;
    batch.shares[i] = share;
    batch.partner_labels[partner(i, batch.size)] = target.label;
  }
};

}  // namespace lockstep
