#include "data/sets/held_out.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

namespace lockstep {

std::vector<bool> held_out(std::span<const int> labels, std::span<const std::uint64_t> keys,
                           double fraction) {
  std::vector<std::size_t> order(labels.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return std::tuple(labels[i], keys[i], i); });
  std::vector<bool> result(labels.size());
  double owed = 0.0;  // rounding error, passed on to the next class
  for (auto begin = order.begin(), end = begin; begin != order.end(); begin = end) {
    end = std::find_if(begin, order.end(), [&](std::size_t i) { return labels[i] != labels[*begin]; });
    const auto size = static_cast<double>(end - begin);
    const double share = fraction * size + owed;
    const double count = std::clamp(std::floor(share + 0.5), 0.0, size - 1.0);
    owed = std::clamp(share - count, -0.5, 0.5);
    std::for_each(begin, begin + static_cast<std::ptrdiff_t>(count),
                  [&](std::size_t i) { result[i] = true; });
  }
  return result;
}

std::vector<int> rarest_labels(std::span<const float> targets, std::size_t labels) {
  std::vector<std::uint64_t> counts(labels);
  for (std::size_t i = 0; i < targets.size(); ++i) counts[i % labels] += targets[i] > 0.5F ? 1 : 0;
  std::vector<int> rarest(targets.size() / labels);
  for (std::size_t sample = 0; sample < rarest.size(); ++sample) {
    std::size_t found = labels;
    for (std::size_t k = 0; k < labels; ++k) {
      const bool applies = targets[sample * labels + k] > 0.5F;
      if (applies && (found == labels || counts[k] < counts[found])) found = k;
    }
    rarest[sample] = static_cast<int>(found);
  }
  return rarest;
}

}  // namespace lockstep
