#include "train/step/outcome.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "lockstep/error.h"

namespace lockstep {

StepOutcome outcome_of(std::span<const LeafResult> results) {
  StepOutcome sum;
  for (const LeafResult& result : results) sum += result;
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
  static constexpr std::array classification{loss,
                                             Metric{"accuracy", "acc", "Accuracy", &Evaluation::accuracy},
                                             Metric{.name = "top5_accuracy",
                                                    .label = "top-5 acc",
                                                    .title = "Top-5 accuracy",
                                                    .value = &Evaluation::top5,
                                                    .in_epochs = false,
                                                    .above_classes = 5}};
  static constexpr std::array regression{
      loss, Metric{"r2", "r2", "R2: share of the variance explained", &Evaluation::r2},
      Metric{"mae", "mae", "Mean absolute error", &Evaluation::mae}};
  static constexpr std::array multilabel{
      loss,
      Metric{.name = "mean_average_precision",
             .label = "mAP",
             .title = "Mean average precision",
             .value = &Evaluation::mean_average_precision,
             .of_steps = false},
      Metric{"accuracy", "acc", "Accuracy over all labels", &Evaluation::accuracy}};
  switch (task) {
    case Task::classification:
      return classification;
    case Task::regression:
      return regression;
    case Task::multilabel:
      return multilabel;
  }
  throw Error(Category::internal, "unknown task");
}

const Metric& score_of(Task task) { return metrics_of(task)[1]; }

double Evaluation::score() const { return this->*score_of(task).value; }

namespace {

/// Share of the variance of the targets that the outputs explain: 1 - squared errors / squared distances of
/// the targets from their mean. If all targets are equal: 1 if there is no error, else 0.
double r2_of(const LossSums& sums, double count) {
  const double distances = sums.squared_target - sums.target * sums.target / count;
  const bool equal = !(distances > 1e-12 * sums.squared_target);  // up to rounding
  if (equal && std::isfinite(sums.loss)) return sums.loss > 0.0 ? 0.0 : 1.0;
  return 1.0 - sums.loss / distances;
}

}  // namespace

Evaluation evaluation_of(const LossSums& sums, const Dataset& dataset) {
  const auto count = static_cast<double>(std::max<std::uint64_t>(1, sums.samples));
  const double unit = dataset.target_scale().deviation;
  Evaluation result{.task = dataset.task(),
                    .classes = dataset.classes(),
                    .samples = sums.samples,
                    .loss = unit * unit * sums.loss / count};
  switch (dataset.task()) {
    case Task::classification:
      result.accuracy = static_cast<double>(sums.correct) / count;
      result.top5 = static_cast<double>(sums.correct5) / count;
      break;
    case Task::regression:
      result.mae = unit * sums.absolute_error / count;
      result.r2 = r2_of(sums, count);
      break;
    case Task::multilabel:
      result.accuracy = static_cast<double>(sums.correct) / (count * dataset.classes());
      break;
  }
  return result;
}

}  // namespace lockstep
