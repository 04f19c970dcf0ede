#include "train/step/outcome.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "lockstep/error.h"

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

bool is_finite(const StepOutcome& outcome) {
  return std::isfinite(outcome.loss) && std::isfinite(outcome.gradient_norm);
}

std::string NotFiniteReport::what() const {
  if (!value.empty()) return value + " is not finite";
  return std::isfinite(loss) ? fmt::format("the norm of the gradient is {}", std::fabs(gradient_norm))
                             : fmt::format("the loss is {}", std::fabs(loss));
}

std::span<const Metric> metrics_of(Task task) {
  static constexpr Metric loss{"loss", "loss", "Loss", &Evaluation::loss};
  static constexpr std::array classification{
      loss, Metric{"accuracy", "acc", "Accuracy", &Evaluation::accuracy},
      Metric{"top5_accuracy", "top-5 acc", "Top-5 accuracy", &Evaluation::top5, false}};
  switch (task) {
    case Task::classification:
      return classification;
  }
  throw Error(Category::internal, "unknown task");
}

const Metric& score_of(Task task) { return metrics_of(task)[1]; }

double Evaluation::score() const { return this->*score_of(task).value; }

Evaluation evaluation_of(const StepOutcome& outcome) {
  const auto count = static_cast<double>(std::max<std::uint64_t>(1, outcome.samples));
  return {.task = Task::classification,
          .samples = outcome.samples,
          .loss = outcome.loss / count,
          .accuracy = static_cast<double>(outcome.correct) / count,
          .top5 = static_cast<double>(outcome.correct5) / count};
}

}  // namespace lockstep
