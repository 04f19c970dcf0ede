#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/json/members.h"
#include "lockstep/reports.h"

namespace lockstep {

/// Results of a class or label.
struct ClassResults {
  std::string name;
  std::uint64_t samples = 0;
  double precision = 0.0;
  double recall = 0.0;
  double f1 = 0.0;
  std::optional<double> average_precision = {};  ///< for a label that some sample has
};
LOCKSTEP_MEMBERS(ClassResults, name, samples, precision, recall, f1, average_precision)

/// Means over the classes or labels.
struct MacroAverage {
  double precision = 0.0;
  double recall = 0.0;
  double f1 = 0.0;
};
LOCKSTEP_MEMBERS(MacroAverage, precision, recall, f1)

/// Results of `lockstep eval`.
struct EvalResults {
  std::string part;        ///< part of the data set: "test"
  Evaluation evaluation;   ///< with confusion; class results are computed from it
  Names class_names = {};  ///< names of the classes, in order
  std::optional<double> calibration_error = {};
  std::string digest = {};

  /// None if the evaluation has neither confusion nor labels.
  std::optional<MacroAverage> macro() const;
  std::vector<ClassResults> classes() const;
  /// Numbers of samples: a list per class, with a number per predicted class.
  std::vector<std::vector<std::uint64_t>> confusion() const;
};

template <OptionsOf<EvalResults> O, class Visitor>
void visit(O& results, Visitor&& field) {
  auto& [part, evaluation, class_names, calibration_error, digest] = results;
  const auto macro = results.macro();
  const auto classes = results.classes();
  const auto confusion = results.confusion();
  field(part, {.name = "part"});
  field(evaluation.samples, {.name = "samples"});
  field(evaluation.skipped, {.name = "left_out"});
  for (const Metric& metric : metrics_of(evaluation.task)) {
    field(evaluation.*metric.value, {.name = metric.name});
  }
  field(macro, {.name = "macro"});
  field(calibration_error, {.name = "calibration_error"});
  field(classes, {.name = "classes"});
  field(confusion, {.name = "confusion"});
  field(digest, {.name = "digest"});
}

/// Line with loss and the other metrics, and one with the means over the classes and the calibration error.
std::string text_of(const EvalResults& results);
/// Table of the classes or labels.
std::string class_table(const EvalResults& results);
/// Confusion matrix: a row per class, a column per predicted class.
std::string confusion_table(const EvalResults& results);

}  // namespace lockstep
