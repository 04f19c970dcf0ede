#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "cli/predict/prediction_printer.h"
#include "core/printable.h"
#include "run/report/csv.h"

namespace lockstep {
namespace {

/// Words for the outputs in CSV and JSON.
struct Noun {
  const char* singular;
  const char* plural;
};

/// Prints the most probable outputs, which have names.
class RankedPrinter final : public PredictionPrinter {
 public:
  /// Writes the probabilities of the outputs with these logits.
  using Probabilities = void(std::span<const float> logits, std::span<double> probabilities);

  /// `top`: number of outputs to print; none: those with a probability above 1/2.
  RankedPrinter(const Dataset& dataset, Noun noun, std::vector<std::string> names,
                Probabilities* write_probabilities, std::optional<std::size_t> top, PredictionFormat format)
      : PredictionPrinter(dataset, names.size(), format),
        noun_(noun),
        names_(std::move(names)),
        write_probabilities_(write_probabilities),
        top_(top),
        probabilities_(names_.size()),
        order_(names_.size()) {}

 private:
  std::string csv_head() const override { return fmt::format("input,{},probability", noun_.singular); }

  std::string lines(const std::string& input, std::span<const float> logits) override {
    write_probabilities_(logits, probabilities_);
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
  std::string json(const std::string& input, std::span<const std::size_t> outputs) const {
    JsonValue predicted = JsonValue::array();
    for (const std::size_t i : outputs) {
      predicted.push_back({{noun_.singular, names_[i]}, {"probability", probabilities_[i]}});
    }
    return json_line(JsonValue{{"input", input}, {noun_.plural, std::move(predicted)}});
  }
  std::size_t count(std::span<const float> logits) const {
    const auto applies = [](float logit) { return logit > 0.0F; };
    if (top_) return std::min(*top_, logits.size());
    return static_cast<std::size_t>(std::ranges::count_if(logits, applies));
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

  Noun noun_;
  std::vector<std::string> names_;
  Probabilities* write_probabilities_;
  std::optional<std::size_t> top_;
  std::vector<double> probabilities_;  ///< of a sample
  std::vector<std::size_t> order_;     ///< outputs of a sample, the most probable first
};

}  // namespace

std::unique_ptr<PredictionPrinter> print_classes(const Dataset& dataset, std::vector<std::string> classes,
                                                 std::size_t top, PredictionFormat format) {
  return std::make_unique<RankedPrinter>(dataset, Noun{"class", "classes"}, std::move(classes), softmax, top,
                                         format);
}

std::unique_ptr<PredictionPrinter> print_labels(const Dataset& dataset, std::vector<std::string> labels,
                                                std::optional<std::size_t> top, PredictionFormat format) {
  const auto write_probabilities = [](std::span<const float> logits, std::span<double> probabilities) {
    std::ranges::transform(logits, probabilities.begin(), label_probability);
  };
  return std::make_unique<RankedPrinter>(dataset, Noun{"label", "labels"}, std::move(labels),
                                         write_probabilities, top, format);
}

}  // namespace lockstep
