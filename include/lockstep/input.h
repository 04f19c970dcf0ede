#pragma once

#include <string>
#include <vector>

#include "lockstep/field.h"

namespace lockstep {

/// Augmentations of training images, named as in PyTorch and timm; `visit` describes them. All are off by
/// default. Data sets of numbers allow mixup only. Each random number is a function of (seed, purpose, epoch,
/// sample), except for mixup's share, a function of (seed, purpose, epoch, number of the micro-batch): the
/// same on any number of ranks.
struct AugmentOptions {
  bool random_resized_crop = false;
  Interval scale = {0.08, 1.0};
  Interval ratio = {3.0 / 4.0, 4.0 / 3.0};
  int crop_padding = 0;
  double hflip = 0.0;
  std::string randaugment = {};
  int cutout = 0;
  double mixup = 0.0;

  bool operator==(const AugmentOptions&) const = default;
};

template <OptionsOf<AugmentOptions> O, class Visitor>
void visit(O& options, Visitor&& field) {
  auto& [random_resized_crop, scale, ratio, crop_padding, hflip, randaugment, cutout, mixup] = options;
  field(random_resized_crop,
        {.name = "random-resized-crop",
         .help = "train on a random part of each image, resized to the size of the input",
         .group = "Augmentation"});
  field(scale, {.name = "scale",
                .help = "area of the random part, as a share of the area of the image",
                .range = {.above = 0, .max = 1},
                .needs = {{"random-resized-crop"}}});
  field(ratio, {.name = "ratio",
                .help = "width of the random part divided by its height",
                .range = {.min = 0.001, .max = 1000},
                .needs = {{"random-resized-crop"}}});
  field(crop_padding, {.name = "crop-padding",
                       .help = "pad each side of the image by N black pixels, then cut out a random part of "
                               "the original size; 0: off",
                       .range = {.max = 1024}});
  field(hflip, {.name = "hflip",
                .help = "flip each image horizontally with probability P",
                .placeholder = "P",
                .range = {.max = 1}});
  field(randaugment, {.name = "randaugment",
                      .help = "apply N random operations of magnitude M (0 to 30) to each image, of the 14 "
                              "of torchvision's RandAugment",
                      .placeholder = "rand-mM-nN"});
  field(cutout, {.name = "cutout",
                 .help = "blacken a square of N x N pixels at a random place of each image; 0: off",
                 .range = {.max = 4096}});
  field(mixup, {.name = "mixup",
                .help = "mix each image and its label with another image and its label, in proportions drawn "
                        "from Beta(ALPHA, ALPHA); 0: off",
                .placeholder = "ALPHA",
                .range = {.max = 1000}});
}

/// Preparation of every sample for the network; `visit` describes the options. The network receives
/// (value - mean) / deviation, where value is pixel / 255, or the number itself in a data set of numbers.
struct InputOptions {
  std::vector<double> mean = {};
  std::vector<double> deviation = {};
  double crop_share = 0.875;
  bool strict = false;

  bool operator==(const InputOptions&) const = default;
};

/// Means and standard deviations of the channels of well-known training sets, from PyTorch's and timm's
/// recipes.
NamedNumbers known_means();
NamedNumbers known_deviations();

template <OptionsOf<InputOptions> O, class Visitor>
void visit(O& options, Visitor&& field) {
  auto& [mean, deviation, crop_share, strict] = options;
  field(mean, {.name = "mean",
               .help = "mean, which is subtracted from each value (pixels: 0 to 1): one number per channel, "
                       "or one for all channels; without it: 0",
               .group = "Data",
               .range = {.min = -std::numeric_limits<double>::infinity()},
               .by_data = "measured on training images, at most 512, at the start",
               .named = known_means});
  field(deviation, {.name = "std",
                    .help = "standard deviation, by which the difference is divided: one number per channel, "
                            "or one for all channels; without it: 1",
                    .range = {.above = 0},
                    .by_data = "measured as the mean is",
                    .named = known_deviations});
  field(crop_share, {.name = "crop-pct",
                     .help = "share of the shorter side of the resized image that the centre crop keeps; "
                             "used where images are not cropped at random",
                     .range = {.min = 0.01, .max = 1},
                     .needs = {{"dataset", {"images"}}}});
  field(strict,
        {.name = "strict", .help = "end the run at a sample that cannot be read, instead of skipping it"});
}

}  // namespace lockstep
