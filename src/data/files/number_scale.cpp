#include "data/files/number_scale.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/text/printable.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

/// Replaces subnormal numbers by 0. Compute threads flush them to zero, so the numbers in a saved model would
/// differ from the data's.
double normal_or_zero(double number) {
  return std::fabs(number) < std::numeric_limits<double>::min() ? 0.0 : number;
}

}  // namespace

void NumberSums::add(double number) {
  if (count++ == 0) first = number;
  sum += number;
  differences += number - first;
  farthest = std::max(farthest, std::fabs(number - first));
}

NumberScale::NumberScale(const NumberSums& sums)
    : count_(static_cast<double>(std::max<std::size_t>(1, sums.count))),
      mean_(sums.sum / count_),
      close_mean_(sums.first + sums.differences / count_),
      unit_(sums.farthest > 0.0 ? sums.farthest : 1.0) {}

void NumberScale::add(double number) {
  const double difference = number - mean_;
  squares_ += difference * difference;
  const double close_difference = (number - close_mean_) / unit_;
  close_squares_ += close_difference * close_difference;
}

TargetScale NumberScale::result(const std::string& file, const std::string& column) const {
  const TargetScale scale{.mean = mean_, .deviation = std::sqrt(squares_ / count_)};
  if (!std::isfinite(scale.deviation)) {
    throw Error(Category::data,
                fmt::format("{}: column {}: its numbers are too large (beyond about 1e154), so they have no "
                            "standard deviation",
                            file, in_quotes(column)));
  }
  // Most columns keep the plain sums, because recorded digests depend on their bits. Plain sums are wrong if
  // their rounding error is not small compared with the deviation, or if the squares are too small for a
  // double.
  if (std::fabs(mean_ - close_mean_) < 1e-3 * scale.deviation) return scale;
  return {.mean = normal_or_zero(close_mean_),
          .deviation = normal_or_zero(unit_ * std::sqrt(close_squares_ / count_))};
}

}  // namespace lockstep
