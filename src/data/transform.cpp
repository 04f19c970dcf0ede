#include "data/transform.h"

#include <fmt/format.h>

#include <cmath>

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
        fmt::format("{} {} numbers were given, the samples have {} channel{}: give one for each, or "
                    "one for all",
                    values.size(), name, channels, channels == 1 ? "" : "s"));
  }
  return {values.begin(), values.end()};
}

}  // namespace

Transform::Transform(const InputOptions& options, const Dataset& dataset, Use use) : seed_(use.seed) {
  if (!options.mean.empty() || !options.deviation.empty()) {
    const int channels = dataset.shape().channels;
    mean_ = per_channel(options.mean.empty() ? std::vector{0.0} : options.mean, channels, "mean");
    deviation_ =
        per_channel(options.deviation.empty() ? std::vector{1.0} : options.deviation, channels, "deviation");
  }
  for (const float deviation : deviation_) {
    if (!(deviation > 0.0F) || !std::isfinite(deviation)) {
      refuse_input(fmt::format("a standard deviation of {} cannot be divided by", deviation));
    }
  }
}

}  // namespace lockstep
