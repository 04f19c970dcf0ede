#include "data/feed/transform.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/options/check.h"
#include "core/text/printable.h"
#include "data/augment/random_resized_crop.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

/// Returns one value per channel. `values` has one value per channel, or one for all channels.
std::vector<float> per_channel(const std::vector<double>& values, int channels, const char* name) {
  const auto count = static_cast<std::size_t>(channels);
  if (values.size() == 1) {
    return std::vector<float>(count, static_cast<float>(values[0]));
  }
  if (values.size() != count) {
    throw Error(Category::usage,
                fmt::format("{} has {}, the samples have {}: give one for each, or one for all", name,
                            counted(values.size(), "number"), counted(channels, "channel")),
                name);
  }
  return {values.begin(), values.end()};
}

void check_augmentation(const AugmentOptions& augment, const Dataset& dataset) {
  check_fields(augment);
  AugmentOptions of_pixels = augment;
  of_pixels.mixup = 0.0;
  if (dataset.encoding() == Encoding::floats && of_pixels != AugmentOptions{}) {
    throw Error(Category::usage,
                "the samples are numbers, not images: mixup is the only possible augmentation");
  }
  // The centre of the square lies in the image, so a larger square would cover the image from any position.
  const Shape shape = dataset.shape();
  const int largest = 2 * std::max(shape.height, shape.width) - 2;
  if (augment.cutout > largest) {
    throw Error(Category::usage,
                fmt::format("{} blackens all of every training image, as images have {}x{} pixels: give at "
                            "most {}",
                            augment.cutout, shape.height, shape.width, largest),
                "cutout");
  }
  if (augment.mixup != 0.0 && augment.mixup < 1e-3) {
    throw Error(Category::usage, fmt::format("{} is neither 0 nor from 0.001 to 1000", augment.mixup),
                "mixup");
  }
}

}  // namespace

NamedNumbers known_means() {
  return {{"mnist", {0.1307}},
          {"fashion-mnist", {0.2860}},
          {"cifar10", {0.4914, 0.4822, 0.4465}},
          {"cifar100", {0.5071, 0.4865, 0.4409}},
          {"imagenet", {0.485, 0.456, 0.406}}};
}

NamedNumbers known_deviations() {
  return {{"mnist", {0.3081}},
          {"fashion-mnist", {0.3530}},
          {"cifar10", {0.2470, 0.2435, 0.2616}},
          {"cifar100", {0.2673, 0.2564, 0.2762}},
          {"imagenet", {0.229, 0.224, 0.225}}};
}

Transform::Transform(const InputOptions& options, const Dataset& dataset, const AugmentOptions& augment,
                     std::uint64_t seed)
    : shape_(dataset.shape()),
      floats_(dataset.encoding() == Encoding::floats),
      crop_share_(options.crop_share),
      augment_(augment),
      rule_(MicroBatchRule::make(augment_, shape_, dataset.size(), seed)) {
  check_augmentation(augment_, dataset);
  if (!augment_.randaugment.empty()) randaugment_.emplace(augment_.randaugment);
  check_fields(options);
  if (crop_share_ != InputOptions{}.crop_share && dataset.encoding() != Encoding::image_file) {
    throw Error(Category::usage, "has an effect on image files only, which these samples are not: omit it",
                "crop-pct");
  }
  for (const auto& [values, name] : {std::pair(&options.mean, "mean"), {&options.deviation, "std"}}) {
    if (*values != by_data<std::vector<double>>) continue;
    throw Error(Category::usage, "auto is for training: give numbers (lockstep data stats measures them)",
                name);
  }
  if (!options.mean.empty() || !options.deviation.empty()) {
    const int channels = dataset.shape().channels;
    mean_ = per_channel(options.mean.empty() ? std::vector{0.0} : options.mean, channels, "mean");
    deviation_ =
        per_channel(options.deviation.empty() ? std::vector{1.0} : options.deviation, channels, "std");
  }
}

Box Transform::frame(ImageSize size, const SampleVisit& visit) const {
  if (augment_.random_resized_crop) {
    return random_resized_crop(augment_, size, visit);
  }
  // Resizes the image so that it just covers the network's size / crop_share, rounded down, and crops the
  // centre to the network's size. Returns this centre in pixels of the file.
  const double rows_per_row = static_cast<double>(size.height) / std::floor(shape_.height / crop_share_);
  const double columns_per_column = static_cast<double>(size.width) / std::floor(shape_.width / crop_share_);
  const double step = std::min(rows_per_row, columns_per_column);
  const double width = shape_.width * step;
  const double height = shape_.height * step;
  return {(size.width - width) / 2.0, (size.height - height) / 2.0, width, height};
}

bool Transform::changes_pixels() const {
  return augment_.crop_padding > 0 || augment_.hflip > 0.0 || randaugment_ || augment_.cutout > 0;
}

void Transform::augment_pixels(Planes image, const SampleVisit& visit, const PixelPlacement& placement,
                               std::vector<std::uint8_t>& scratch) const {
  if (augment_.crop_padding > 0) crop(image, placement, scratch);
  flip(image, placement);
  if (randaugment_) randaugment_->apply(image, visit, scratch);
  if (augment_.cutout > 0) cutout(image, placement, augment_.cutout);
}

SampleFormat Transform::format() const {
  return {.shape = shape_,
          .floats = floats_,
          .mean = mean_.empty() ? nullptr : mean_.data(),
          .deviation = deviation_.empty() ? nullptr : deviation_.data()};
}

}  // namespace lockstep
