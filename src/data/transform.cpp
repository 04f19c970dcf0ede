#include "data/transform.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "data/augment/mixup.h"
#include "data/augment/random_resized_crop.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

[[noreturn]] void refuse_input(const std::string& what) { throw Error(Category::usage, what); }

/// `values`, of which there is one per channel or one for all.
std::vector<float> per_channel(const std::vector<double>& values, int channels, const char* name) {
  const auto count = static_cast<std::size_t>(channels);
  if (values.size() == 1) {
    return std::vector<float>(count, static_cast<float>(values[0]));
  }
  if (values.size() != count) {
    refuse_input(
        fmt::format("{} has {} numbers, the samples have {} channel{}: give one for each, or one for all",
                    name, values.size(), channels, channels == 1 ? "" : "s"));
  }
  return {values.begin(), values.end()};
}

void check_random_crop(const AugmentOptions& augment) {
  const AugmentOptions defaults;
  if (!(augment.scale_min > 0.0 && augment.scale_min <= augment.scale_max && augment.scale_max <= 1.0)) {
    refuse_input(fmt::format("--scale must lie above 0 and end at 1 or below, not {},{}", augment.scale_min,
                             augment.scale_max));
  }
  if (!(augment.ratio_min >= 1e-3 && augment.ratio_min <= augment.ratio_max && augment.ratio_max <= 1e3)) {
    refuse_input(fmt::format("--ratio must lie between 0.001 and 1000, not {},{}", augment.ratio_min,
                             augment.ratio_max));
  }
  if (augment.random_resized_crop) return;
  if (augment.scale_min != defaults.scale_min || augment.scale_max != defaults.scale_max) {
    refuse_input("--scale has no effect without --random-resized-crop: leave it out");
  }
  if (augment.ratio_min != defaults.ratio_min || augment.ratio_max != defaults.ratio_max) {
    refuse_input("--ratio has no effect without --random-resized-crop: leave it out");
  }
}

void check_augmentation(const AugmentOptions& augment, const Dataset& dataset) {
  AugmentOptions of_pixels = augment;
  of_pixels.mixup = 0.0;
  if (dataset.encoding() == Encoding::floats && of_pixels != AugmentOptions{}) {
    refuse_input("the samples are numbers, not images: of the augmentations only --mixup is possible");
  }
  check_random_crop(augment);
  if (!(augment.hflip >= 0.0 && augment.hflip <= 1.0)) {
    refuse_input(fmt::format("--hflip must be from 0 to 1, not {}", augment.hflip));
  }
  if (augment.crop_padding < 0) {
    refuse_input(fmt::format("--crop-padding must be at least 0, not {}", augment.crop_padding));
  }
  if (augment.cutout < 0) {
    refuse_input(fmt::format("--cutout must be at least 0, not {}", augment.cutout));
  }
  if (augment.mixup != 0.0 && !(augment.mixup >= 1e-3 && augment.mixup <= 1e3)) {
    refuse_input(fmt::format("--mixup must be 0, or from 0.001 to 1000, not {}", augment.mixup));
  }
}

}  // namespace

Transform::Transform(const InputOptions& options, const Dataset& dataset, Use use)
    : seed_(use.seed), shape_(dataset.shape()), crop_share_(options.crop_share) {
  if (use.training) {
    check_augmentation(options.augment, dataset);
    augment_ = options.augment;
    augmentations_ = make_augmentations(augment_, shape_);
  }
  if (!(crop_share_ > 0.0 && crop_share_ <= 1.0)) {
    refuse_input(fmt::format("--crop-pct must be above 0 and at most 1, not {}", crop_share_));
  }
  if (crop_share_ != InputOptions{}.crop_share && dataset.encoding() != Encoding::image_file) {
    refuse_input("--crop-pct is for image files, which these samples are not: leave it out");
  }
  if (!options.mean.empty() || !options.deviation.empty()) {
    const int channels = dataset.shape().channels;
    mean_ = per_channel(options.mean.empty() ? std::vector{0.0} : options.mean, channels, "--mean");
    deviation_ =
        per_channel(options.deviation.empty() ? std::vector{1.0} : options.deviation, channels, "--std");
  }
  for (const float deviation : deviation_) {
    if (!(deviation > 0.0F) || !std::isfinite(deviation)) {
      refuse_input(fmt::format("--std must be above 0 and finite, not {}", deviation));
    }
  }
}

Box Transform::frame(ImageSize size, const SampleVisit& visit) const {
  if (augment_.random_resized_crop) {
    return random_resized_crop(augment_, size, visit);
  }
  // Resized so that the shorter of both sides, relative to the network's, is its side / crop_share, rounded
  // down to whole pixels; what is seen of that, in pixels of the file:
  const double rows_per_row = static_cast<double>(size.height) / std::floor(shape_.height / crop_share_);
  const double columns_per_column = static_cast<double>(size.width) / std::floor(shape_.width / crop_share_);
  const double step = std::min(rows_per_row, columns_per_column);
  const double width = shape_.width * step;
  const double height = shape_.height * step;
  return {(size.width - width) / 2.0, (size.height - height) / 2.0, width, height};
}

float Transform::share(std::uint32_t epoch, std::uint32_t number) const {
  return mixup_share(augment_.mixup, seed_, epoch, number);
}

}  // namespace lockstep
