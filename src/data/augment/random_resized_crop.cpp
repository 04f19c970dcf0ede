#include "data/augment/random_resized_crop.h"

#include <algorithm>
#include <cmath>

#include "core/elementary.h"

namespace lockstep {
namespace {

double rounded(double value) { return std::floor(value + 0.5); }

Box centre_crop(const AugmentOptions& options, ImageSize size) {
  const double ratio = static_cast<double>(size.width) / size.height;
  Box box{0.0, 0.0, static_cast<double>(size.width), static_cast<double>(size.height)};
  if (ratio < options.ratio.min) {
    box.height = std::max(1.0, rounded(box.width / options.ratio.min));
  } else if (ratio > options.ratio.max) {
    box.width = std::max(1.0, rounded(box.height * options.ratio.max));
  }
  box.left = std::floor((size.width - box.width) / 2.0);
  box.top = std::floor((size.height - box.height) / 2.0);
  return box;
}

}  // namespace

Box random_resized_crop(const AugmentOptions& options, ImageSize size, const SampleVisit& visit) {
  constexpr int attempts = 10;
  Draws draws(visit, Purpose::resized_crop);
  const double area = static_cast<double>(size.width) * size.height;
  const double log_min = logarithm(options.ratio.min);
  const double log_max = logarithm(options.ratio.max);
  for (int attempt = 0; attempt < attempts; ++attempt) {
    const double target = area * draws.uniform(options.scale.min, options.scale.max);
    const double ratio = exponential(draws.uniform(log_min, log_max));
    const double width = rounded(std::sqrt(target * ratio));
    const double height = rounded(std::sqrt(target / ratio));
    if (width >= 1.0 && height >= 1.0 && width <= size.width && height <= size.height) {
      const int top = draws.below(size.height - static_cast<int>(height) + 1);
      const int left = draws.below(size.width - static_cast<int>(width) + 1);
      return {static_cast<double>(left), static_cast<double>(top), width, height};
    }
  }
  return centre_crop(options, size);
}

}  // namespace lockstep
