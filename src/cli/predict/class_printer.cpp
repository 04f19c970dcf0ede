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

struct PredictedLabel {
  std::string label;
  double probability = 0.0;
};
LOCKSTEP_MEMBERS(PredictedLabel, label, probability)

struct PredictedLabels {
  std::string input;
  std::vector<PredictedLabel> labels;
};
LOCKSTEP_MEMBERS(PredictedLabels, input, labels)

/// Prints the most probable outputs, which have names.
class RankedPrinter : public PredictionPrinter {
 public:
  RankedPrinter(const Dataset& dataset, std::vector<std::string> names, PredictionFormat format)
      : PredictionPrinter(dataset, names.size(), format),
        names_(std::move(names)),
        probabilities_(names_.size()),
        order_(names_.size()) {}

 protected:
  const std::string& name(std::size_t output) const { return names_[output]; }
  double probability(std::size_t output) const { return probabilities_[output]; }

 private:
  virtual void write_probabilities(std::span<const float> logits, std::span<double> probabilities) const = 0;
  /// Number of outputs to print, at most all.
  virtual std::size_t count(std::span<const float> logits) const = 0;
  virtual std::string json(const std::string& input, std::span<const std::size_t> outputs) const = 0;

  std::string lines(const std::string& input, std::span<const float> logits) override {
    write_probabilities(logits, probabilities_);
    const std::span<const std::size_t> top = most_probable(logits, count(logits));
    std::string text;
    switch (format()) {
      case PredictionFormat::text:
        text = without_control_characters(input);
        for (const std::size_t i : top) {
          text += fmt::format("  {} {:.4f}", without_control_characters(names_[i]), probabilities_[i]);
        }
        return text + "\n";
      case PredictionFormat::csv:
        for (const std::size_t i : top) {
          text += fmt::format("{},{},{:.6f}\n", csv_cell(input), csv_cell(names_[i]), probabilities_[i]);
        }
        return top.empty() ? csv_cell(input) + ",,\n" : text;
      case PredictionFormat::json:
        break;
    }
    return json(input, top);
  }
  /// By logits, as different ones may have the same probability; of equal ones, the first output. NaN comes
  /// last.
  std::span<const std::size_t> most_probable(std::span<const float> logits, std::size_t count) {
    const auto logit = [&](std::size_t i) {
      return std::isnan(logits[i]) ? -std::numeric_limits<float>::infinity() : logits[i];
    };
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::ranges::partial_sort(
        order_, order_.begin() + static_cast<std::ptrdiff_t>(count),
        [&](std::size_t a, std::size_t b) { return logit(a) > logit(b) || (logit(a) == logit(b) && a < b); });
    return std::span(order_).first(count);
  }

  std::vector<std::string> names_;
  std::vector<double> probabilities_;  ///< of a sample
  std::vector<std::size_t> order_;     ///< outputs of a sample, the most probable first
};

class ClassPrinter final : public RankedPrinter {
 public:
  ClassPrinter(const Dataset& dataset, std::vector<std::string> classes, std::size_t top,
               PredictionFormat format)
      : RankedPrinter(dataset, std::move(classes), format), top_(top) {}

 private:
  std::string csv_head() const override { return "input,class,probability"; }
  void write_probabilities(std::span<const float> logits, std::span<double> probabilities) const override {
    softmax(logits, probabilities);
  }
  std::size_t count(std::span<const float> logits) const override { return std::min(top_, logits.size()); }
  std::string json(const std::string& input, std::span<const std::size_t> outputs) const override {
    PredictedClasses predicted{.input = input, .classes = {}};
    for (const std::size_t i : outputs) predicted.classes.push_back({name(i), probability(i)});
    return json_line(predicted);
  }

  std::size_t top_;
};

class LabelPrinter final : public RankedPrinter {
 public:
  LabelPrinter(const Dataset& dataset, std::vector<std::string> labels, std::optional<std::size_t> top,
               PredictionFormat format)
      : RankedPrinter(dataset, std::move(labels), format), top_(top) {}

 private:
  std::string csv_head() const override { return "input,label,probability"; }
  void write_probabilities(std::span<const float> logits, std::span<double> probabilities) const override {
    std::ranges::transform(logits, probabilities.begin(), label_probability);
  }
  std::size_t count(std::span<const float> logits) const override {
    const auto applies = [](float logit) { return logit > 0.0F; };
    if (top_) return std::min(*top_, logits.size());
    return static_cast<std::size_t>(std::ranges::count_if(logits, applies));
  }
  std::string json(const std::string& input, std::span<const std::size_t> outputs) const override {
    PredictedLabels predicted{.input = input, .labels = {}};
    for (const std::size_t i : outputs) predicted.labels.push_back({name(i), probability(i)});
    return json_line(predicted);
  }

  std::optional<std::size_t> top_;
};

}  // namespace

std::unique_ptr<PredictionPrinter> print_classes(const Dataset& dataset, std::vector<std::string> classes,
                                                 std::size_t top, PredictionFormat format) {
  return std::make_unique<ClassPrinter>(dataset, std::move(classes), top, format);
}

std::unique_ptr<PredictionPrinter> print_labels(const Dataset& dataset, std::vector<std::string> labels,
                                                std::optional<std::size_t> top, PredictionFormat format) {
  return std::make_unique<LabelPrinter>(dataset, std::move(labels), top, format);
}

}  // namespace lockstep
