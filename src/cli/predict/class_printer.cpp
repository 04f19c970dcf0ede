#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "cli/predict/json_line.h"
#include "cli/predict/prediction_printer.h"
#include "core/json/members.h"
#include "core/printable.h"
#include "run/report/csv.h"

namespace lockstep {
namespace {

struct PredictedClass {
  std::string name;
  double probability = 0.0;
};
template <OptionsOf<PredictedClass> O, class Visitor>
void visit(O& predicted, Visitor&& field) {
  auto& [name, probability] = predicted;
  field(name, {.name = "class"});
  field(probability, {.name = "probability"});
}

/// Prediction of a sample as a JSON line.
struct PredictedClasses {
  std::string input;
  std::vector<PredictedClass> classes;
};
LOCKSTEP_MEMBERS(PredictedClasses, input, classes)

class ClassPrinter final : public PredictionPrinter {
 public:
  ClassPrinter(const Dataset& dataset, std::vector<std::string> classes, std::size_t top,
               PredictionFormat format)
      : PredictionPrinter(dataset, classes.size(), format),
        classes_(std::move(classes)),
        top_(std::min(top, classes_.size())),
        probabilities_(classes_.size()),
        order_(classes_.size()) {}

 private:
  std::string csv_head() const override { return "input,class,probability"; }
  std::string lines(const std::string& input, std::span<const float> outputs) override {
    softmax(outputs, probabilities_);
    const std::span<const std::size_t> top = most_probable(outputs);
    std::string text;
    switch (format()) {
      case PredictionFormat::text:
        text = without_control_characters(input);
        for (const std::size_t c : top) {
          text += fmt::format("  {} {:.4f}", without_control_characters(classes_[c]), probabilities_[c]);
        }
        return text + "\n";
      case PredictionFormat::csv:
        for (const std::size_t c : top) {
          text += fmt::format("{},{},{:.6f}\n", csv_cell(input), csv_cell(classes_[c]), probabilities_[c]);
        }
        return text;
      case PredictionFormat::json:
        break;
    }
    PredictedClasses predicted{.input = input, .classes = {}};
    for (const std::size_t c : top) predicted.classes.push_back({classes_[c], probabilities_[c]});
    return json_line(predicted);
  }
  /// By logits, as different ones may have the same probability; of equal ones, the first class. NaN comes
  /// last.
  std::span<const std::size_t> most_probable(std::span<const float> logits) {
    const auto logit = [&](std::size_t c) {
      return std::isnan(logits[c]) ? -std::numeric_limits<float>::infinity() : logits[c];
    };
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::ranges::partial_sort(
        order_, order_.begin() + static_cast<std::ptrdiff_t>(top_),
        [&](std::size_t a, std::size_t b) { return logit(a) > logit(b) || (logit(a) == logit(b) && a < b); });
    return std::span(order_).first(top_);
  }

  std::vector<std::string> classes_;
  std::size_t top_;
  std::vector<double> probabilities_;  ///< of a sample
  std::vector<std::size_t> order_;     ///< classes of a sample, the most probable first
};

}  // namespace

std::unique_ptr<PredictionPrinter> print_classes(const Dataset& dataset, std::vector<std::string> classes,
                                                 std::size_t top, PredictionFormat format) {
  return std::make_unique<ClassPrinter>(dataset, std::move(classes), top, format);
}

}  // namespace lockstep
