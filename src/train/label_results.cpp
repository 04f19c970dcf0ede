#include "train/label_results.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace lockstep {
namespace {

/// Output for a sample, and whether the sample has the label.
struct Scored {
  float score;
  bool applies;
};

/// Average precision of a label; `positives` > 0: number of samples that have the label. Equal scores form
/// one threshold, so the order of samples with equal scores does not matter.
double average_precision(std::vector<Scored>& samples, double positives) {
  if (std::ranges::any_of(samples, [](const Scored& sample) { return std::isnan(sample.score); })) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  std::ranges::sort(samples, std::greater<>(), &Scored::score);
  double sum = 0.0, found = 0.0;
  for (std::size_t begin = 0, end = 0; begin < samples.size(); begin = end) {
    double gain = 0.0;
    for (; end < samples.size() && samples[end].score == samples[begin].score; ++end) {
      gain += samples[end].applies ? 1.0 : 0.0;
    }
    found += gain;
    sum += gain * (found / static_cast<double>(end));
  }
  return sum / positives;
}

}  // namespace

std::vector<LabelResult> label_results(std::span<const float> outputs, std::span<const float> targets,
                                       std::size_t labels) {
  std::vector<LabelResult> results(labels);
  std::vector<Scored> samples(outputs.size() / labels);
  for (std::size_t label = 0; label < labels; ++label) {
    LabelResult& result = results[label];
    for (std::size_t i = 0; i < samples.size(); ++i) {
      samples[i] = {.score = outputs[i * labels + label], .applies = targets[i * labels + label] > 0.5F};
      const bool predicted = samples[i].score > 0.0F;
      result.samples += samples[i].applies ? 1 : 0;
      result.predicted += predicted ? 1 : 0;
      result.correct += predicted && samples[i].applies ? 1 : 0;
    }
    if (result.samples > 0) {
      result.average_precision = average_precision(samples, static_cast<double>(result.samples));
    }
  }
  return results;
}

double mean_average_precision(std::span<const LabelResult> labels) {
  double sum = 0.0, count = 0.0;
  for (const LabelResult& label : labels) {
    if (label.samples == 0) continue;
    sum += label.average_precision;
    count += 1.0;
  }
  return count > 0.0 ? sum / count : 0.0;
}

}  // namespace lockstep
