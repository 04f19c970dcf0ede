#include "train/step/outcome.h"

#include <algorithm>
#include <cmath>

namespace lockstep {

StepOutcome outcome_of(std::span<const LeafResult> results) {
  StepOutcome sum;
  for (const LeafResult& result : results) {
    sum.loss += result.loss;
    sum.correct += result.correct;
    sum.correct5 += result.correct5;
    sum.samples += result.samples;
  }
  if (sum.samples > 0) sum.gradient_scale = 1.0F / static_cast<float>(sum.samples);
  sum.statistic_scale = sum.gradient_scale;
  sum.updates = sum.samples > 0 && std::isfinite(sum.loss) ? 1 : 0;
  return sum;
}

Evaluation evaluation_of(const StepOutcome& outcome) {
  const auto count = static_cast<double>(std::max<std::uint64_t>(1, outcome.samples));
  return {.samples = outcome.samples,
          .loss = outcome.loss / count,
          .accuracy = static_cast<double>(outcome.correct) / count,
          .top5 = static_cast<double>(outcome.correct5) / count};
}

}  // namespace lockstep
