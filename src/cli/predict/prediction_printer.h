#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/predict/inputs.h"
#include "core/json/json.h"
#include "lockstep/dataset.h"
#include "lockstep/evaluation.h"
#include "lockstep/field.h"
#include "lockstep/task.h"

namespace lockstep {

/// Form of the predictions on stdout.
enum class PredictionFormat { text, csv, json };
inline Names choices_of(PredictionFormat) { return {"text", "csv", "json"}; }

/// A described struct as a JSON object on one line. Bytes that are not UTF-8 are replaced.
template <class Line>
std::string json_line(const Line& line) {
  return json_text(json_of(line)) + "\n";
}

/// JSON lines of inputs that have no samples; empty for other formats.
std::string text_of(const std::vector<UnreadInput>& inputs, PredictionFormat format);

/// Texts of the predictions of a task, in the order of the samples. They do not depend on ranks and threads.
class PredictionPrinter {
 public:
  /// `outputs`: number of outputs of the network.
  PredictionPrinter(const Dataset& dataset, std::size_t outputs, PredictionFormat format)
      : dataset_(dataset), outputs_(outputs), format_(format) {}
  virtual ~PredictionPrinter() = default;

  /// Line before the first sample; may be empty.
  std::string head() const { return format_ == PredictionFormat::csv ? csv_head() + "\n" : ""; }
  /// Lines of the samples of a block. Samples without usable outputs have a line in JSON only.
  std::string text(const OutputBlock& block);

 protected:
  PredictionFormat format() const { return format_; }

 private:
  /// Names of the columns of a CSV file.
  virtual std::string csv_head() const = 0;
  /// Lines of the sample called `input`.
  virtual std::string lines(const std::string& input, std::span<const float> outputs) = 0;

  const Dataset& dataset_;
  std::size_t outputs_;
  PredictionFormat format_;
};

/// Classes with their probabilities. `classes`: names of the network's outputs. `top`: number of classes to
/// print for each sample, at least 1; a number above that of the classes means all.
std::unique_ptr<PredictionPrinter> print_classes(const Dataset& dataset, std::vector<std::string> classes,
                                                 std::size_t top, PredictionFormat format);

/// Labels of Task::multilabel with their probabilities: the `top` most probable labels; without `top`, all
/// labels above 1/2, perhaps none. `labels`: names of the network's outputs.
std::unique_ptr<PredictionPrinter> print_labels(const Dataset& dataset, std::vector<std::string> labels,
                                                std::optional<std::size_t> top, PredictionFormat format);

/// Numbers of Task::regression, in the table's unit. `name`: name of the number.
std::unique_ptr<PredictionPrinter> print_numbers(const Dataset& dataset, std::string name,
                                                 const TargetScale& scale, PredictionFormat format);

}  // namespace lockstep
