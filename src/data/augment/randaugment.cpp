#include "data/augment/randaugment.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <string_view>

#include "data/augment/randaugment_ops.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

constexpr int max_magnitude = 30;

}  // namespace

RandAugment::RandAugment(const std::string& text) {
  std::string_view rest = text;
  const auto take = [&](std::string_view prefix, int min, int max, int& value) {
    if (!rest.starts_with(prefix)) return false;
    rest.remove_prefix(prefix.size());
    const auto [stop, status] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    rest.remove_prefix(static_cast<std::size_t>(stop - rest.data()));
    return status == std::errc() && value >= min && value <= max;
  };
  if (!take("rand-m", 0, max_magnitude, magnitude_) || !take("-n", 1, 14, count_) || !rest.empty()) {
    throw Error(Category::usage,
                fmt::format("'{}' is not rand-mM-nN with M from 0 to {} and N from 1 to 14, e.g. rand-m9-n2",
                            text, max_magnitude),
                "randaugment");
  }
}

void RandAugment::apply(Planes image, const SampleVisit& visit, std::vector<std::uint8_t>& scratch) const {
  Draws draws(visit, Purpose::randaugment);
  for (int i = 0; i < count_; ++i) {
    const int operation = draws.below(14);
    const double sign = draws.below(2) == 0 ? 1.0 : -1.0;
    apply(operation, sign, image, scratch);
  }
}

double RandAugment::magnitude(double max) const { return max * magnitude_ / max_magnitude; }

void RandAugment::apply(int operation, double sign, Planes image, std::vector<std::uint8_t>& scratch) const {
  constexpr double translation = 150.0 / 331.0;  // at the maximum magnitude, as a share of the image
  const double factor = 1.0 + sign * magnitude(0.9);
  switch (operation) {
    case 0:
      return affine(image, {.b = sign * magnitude(0.3)}, scratch);
    case 1:
      return affine(image, {.d = sign * magnitude(0.3)}, scratch);
    case 2:
      return affine(image, {.c = sign * magnitude(translation * image.shape.width)}, scratch);
    case 3:
      return affine(image, {.f = sign * magnitude(translation * image.shape.height)}, scratch);
    case 4:
      return affine(image, rotation(sign * magnitude(30.0), image.shape), scratch);
    case 5:
      return adjust_brightness(image, factor);
    case 6:
      return adjust_color(image, factor);
    case 7:
      return adjust_contrast(image, factor);
    case 8:
      return adjust_sharpness(image, factor, scratch);
    case 9:
      return posterize(image, 8 - static_cast<int>(std::floor(magnitude(4.0) + 0.5)));
    case 10:
      return solarize(image, 255.0 - magnitude(255.0));
    case 11:
      return autocontrast(image);
    case 12:
      return equalize(image);
    default:
      return;  // identity
  }
}

}  // namespace lockstep
