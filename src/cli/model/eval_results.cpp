#include "cli/model/eval_results.h"

#include <fmt/format.h>

#include <iterator>

#include "core/text/printable.h"
#include "run/report/class_metrics.h"
#include "run/sinks/progress_text.h"

namespace lockstep {
namespace {

std::string without_end_spaces(const std::string& line) {
  return line.substr(0, line.find_last_not_of(' ') + 1);
}

/// Line of metrics: first those that epochs report, each with the name of the data's part.
std::string metrics_line(const std::string& part, const Evaluation& evaluation) {
  std::string epochs, more;
  for (const Metric& metric : metrics_of(evaluation.task)) {
    if (evaluation.classes <= metric.above_classes) continue;
    const std::string text = fmt::format("{} {}  ", metric.label, metric_text(evaluation.*metric.value));
    if (metric.in_epochs) {
      fmt::format_to(std::back_inserter(epochs), "{} {}", part, text);
    } else {
      more += text;
    }
  }
  return without_end_spaces(fmt::format("{}samples {}  {}", epochs, evaluation.samples, more)) + "\n";
}

std::vector<ClassCounts> class_counts(const Evaluation& evaluation) {
  std::vector<ClassCounts> counts = counts_of(evaluation.confusion);
  for (const LabelResult& label : evaluation.labels) {
    counts.push_back({label.samples, label.predicted, label.correct});
  }
  return counts;
}

}  // namespace

std::optional<MacroAverage> EvalResults::macro() const {
  if (evaluation.confusion.empty() && evaluation.labels.empty()) return std::nullopt;
  const ClassMetrics average = macro_average(class_counts(evaluation));
  return MacroAverage{average.precision, average.recall, average.f1};
}

std::vector<ClassResults> EvalResults::classes() const {
  std::vector<ClassResults> results;
  const std::vector<ClassCounts> counts = class_counts(evaluation);
  for (std::size_t c = 0; c < counts.size(); ++c) {
    const auto& [samples, precision, recall, f1] = counts[c].metrics();
    results.push_back({class_names.at(c), samples, precision, recall, f1});
    if (samples > 0 && !evaluation.labels.empty()) {
      results.back().average_precision = evaluation.labels[c].average_precision;
    }
  }
  return results;
}

std::vector<std::vector<std::uint64_t>> EvalResults::confusion() const {
  std::vector<std::vector<std::uint64_t>> rows;
  const std::size_t classes = classes_of(evaluation.confusion);
  for (auto row = evaluation.confusion.begin(); row != evaluation.confusion.end();) {
    const auto end = row + static_cast<std::ptrdiff_t>(classes);
    rows.emplace_back(row, end);
    row = end;
  }
  return rows;
}

std::string text_of(const EvalResults& results) {
  std::string more;
  if (const std::optional<MacroAverage> macro = results.macro()) {
    more += fmt::format("macro precision {:.4f}  macro recall {:.4f}  macro F1 {:.4f}  ", macro->precision,
                        macro->recall, macro->f1);
  }
  if (results.calibration_error) more += fmt::format("calibration error {:.4f}", *results.calibration_error);
  return metrics_line(results.part, results.evaluation) +
         (more.empty() ? "" : without_end_spaces(more) + "\n");
}

std::string class_table(const EvalResults& results) {
  const bool has_labels = results.evaluation.task == Task::multilabel;
  std::string table = fmt::format("{:<20}{:>9}{:>11}{:>9}{:>9}{}\n", has_labels ? "label" : "class",
                                  "samples", "precision", "recall", "F1", has_labels ? "       AP" : "");
  for (const ClassResults& found : results.classes()) {
    table += fmt::format("{:<20}{:>9}{:>11.4f}{:>9.4f}{:>9.4f}", printable(found.name), found.samples,
                         found.precision, found.recall, found.f1);
    if (has_labels) {
      table += found.average_precision ? fmt::format("{:>9.4f}", *found.average_precision) : "        -";
    }
    table += "\n";
  }
  return table;
}

std::string confusion_table(const EvalResults& results) {
  const Names& names = results.class_names;
  std::string table = fmt::format("{:<20}", "class");
  for (std::size_t c = 0; c < names.size(); ++c) table += fmt::format("{:>7}", c);
  for (std::size_t c = 0; c < names.size(); ++c) {
    table += fmt::format("\n{:<20}", fmt::format("{} {}", c, printable(names[c])));
    for (std::size_t predicted = 0; predicted < names.size(); ++predicted) {
      table += fmt::format("{:>7}", results.evaluation.confusion[c * names.size() + predicted]);
    }
  }
  return table + "\n";
}

}  // namespace lockstep
