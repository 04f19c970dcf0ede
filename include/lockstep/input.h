#pragma once

#include <string>
#include <vector>

namespace lockstep {

/// Random changes of the training images (of data sets of numbers: mixup only), after the options of PyTorch
/// and timm. Each random number is a function of (seed, purpose, epoch, sample): the same on any number of
/// ranks. All off by default.
struct AugmentOptions {
  bool random_resized_crop = false;  ///< a random part of the image, resized to what the network sees
  double scale_min = 0.08;           ///< of the part's area, as a share of the image's
  double scale_max = 1.0;
  double ratio_min = 3.0 / 4.0;  ///< of its width to its height
  double ratio_max = 4.0 / 3.0;
  int crop_padding = 0;          ///< black border around the image, of which a random part is cut
  double hflip = 0.0;            ///< probability of swapping left and right
  std::string randaugment = {};  ///< "rand-mM-nN": N random operations of magnitude M (0 to 30); empty: none
  int cutout = 0;                ///< side of a square that is blackened, at a random place
  double mixup = 0.0;  ///< alpha: a micro-batch is mixed with itself reversed, in Beta(alpha, alpha)

  bool operator==(const AugmentOptions&) const = default;
};

/// What happens to samples between the data set and the network.
struct InputOptions {
  /// The network sees (value - mean) / deviation, where value is pixel / 255, or the number that a data set
  /// of numbers has. One per channel, or one for all; empty: 0 and 1.
  std::vector<double> mean = {};
  std::vector<double> deviation = {};
  /// Image files, unless randomly cropped: the image is resized so that its shorter side is the network's
  /// side divided by this, and the middle is cut out.
  double crop_share = 0.875;
  bool strict = false;  ///< a sample that cannot be read ends the run; otherwise it is left out
  AugmentOptions augment = {};

  bool operator==(const InputOptions&) const = default;
};

}  // namespace lockstep
