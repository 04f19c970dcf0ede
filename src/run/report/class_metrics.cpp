#include "run/report/class_metrics.h"

#include <cmath>

namespace lockstep {
namespace {

double share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

ClassMetrics ClassCounts::metrics() const {
  return {.samples = samples,
          .precision = share(correct, predicted),
          .recall = share(correct, samples),
          .f1 = share(2 * correct, samples + predicted)};
}

std::vector<ClassCounts> counts_of(std::span<const std::uint64_t> confusion) {
  const std::size_t classes = classes_of(confusion);
  std::vector<ClassCounts> counts(classes);
  for (std::size_t c = 0; c < classes; ++c) {
    for (std::size_t predicted = 0; predicted < classes; ++predicted) {
      const std::uint64_t samples = confusion[c * classes + predicted];
      counts[c].samples += samples;
      counts[predicted].predicted += samples;
      if (c == predicted) counts[c].correct = samples;
    }
  }
  return counts;
}

ClassMetrics macro_average(std::span<const ClassCounts> counts) {
  ClassMetrics sum;
  double classes = 0.0;
  for (const ClassCounts& one : counts) {
    if (one.samples + one.predicted == 0) continue;
    const ClassMetrics metrics = one.metrics();
    sum.samples += metrics.samples;
    sum.precision += metrics.precision;
    sum.recall += metrics.recall;
    sum.f1 += metrics.f1;
    classes += 1.0;
  }
  if (classes == 0.0) return sum;
  return {.samples = sum.samples,
          .precision = sum.precision / classes,
          .recall = sum.recall / classes,
          .f1 = sum.f1 / classes};
}

std::size_t classes_of(std::span<const std::uint64_t> confusion) {
  return static_cast<std::size_t>(std::lround(std::sqrt(static_cast<double>(confusion.size()))));
}

}  // namespace lockstep
