#include "cli/predict/prediction_printer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "cli/model/target_text.h"
#include "core/text/printable.h"
#include "run/report/csv.h"

namespace lockstep {
namespace {

/// Prints the names of the most probable outputs.
class RankedPrinter final : public PredictionPrinter {
 public:
  /// Writes the probabilities of the outputs with these logits.
  using Probabilities = void(std::span<const float> logits, std::span<double> probabilities);

  /// `noun`: word for an output in CSV and JSON. `top`: number of outputs to print; none: all with a
  /// probability above 1/2.
  RankedPrinter(const Dataset& dataset, const char* noun, std::vector<std::string> names,
                Probabilities* write_probabilities, std::optional<std::size_t> top, PredictionFormat format)
      : PredictionPrinter(dataset, names.size(), format),
        noun_(noun),
        names_(std::move(names)),
        write_probabilities_(write_probabilities),
        top_(top),
        probabilities_(names_.size()),
        order_(names_.size()) {}

 private:
  std::string csv_head() const override { return fmt::format("input,{},probability", noun_); }

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
      predicted.push_back({{noun_, names_[i]}, {"probability", probabilities_[i]}});
    }
    return json_line(JsonValue{{"input", input}, {plural(noun_), std::move(predicted)}});
  }
  std::size_t count(std::span<const float> logits) const {
    const auto applies = [](float logit) { return logit > 0.0F; };
    if (top_) return std::min(*top_, logits.size());
    return static_cast<std::size_t>(std::ranges::count_if(logits, applies));
  }
  /// Outputs by descending logit, as different logits may have the same probability. Equal logits stay in the
  /// order of the outputs. NaN comes last.
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

  const char* noun_;
  std::vector<std::string> names_;
  Probabilities* write_probabilities_;
  std::optional<std::size_t> top_;
  std::vector<double> probabilities_;  ///< of one sample
  std::vector<std::size_t> order_;     ///< outputs of one sample, the most probable first
};

class NumberPrinter final : public PredictionPrinter {
 public:
  NumberPrinter(const Dataset& dataset, std::string name, const TargetScale& scale, PredictionFormat format)
      : PredictionPrinter(dataset, 1, format), name_(std::move(name)), scale_(scale) {}

 private:
  std::string csv_head() const override { return "input,prediction"; }
  std::string lines(const std::string& input, std::span<const float> outputs) override {
    const double number = in_unit(outputs[0], scale_);
    switch (format()) {
      case PredictionFormat::text:
        return fmt::format("{}  {} {}\n", without_control_characters(input),
                           without_control_characters(name_), target_text(number, scale_));
      case PredictionFormat::csv:
        return fmt::format("{},{}\n", csv_cell(input), target_text(number, scale_));
      case PredictionFormat::json:
        break;
    }
    return json_line(JsonValue{{"input", input}, {"prediction", number}});
  }

  std::string name_;
  TargetScale scale_;
};

}  // namespace

std::string PredictionPrinter::text(const OutputBlock& block) {
  std::string text;
  std::span<const UnreadableSample> unreadable = block.unreadable;
  for (std::uint64_t i = 0; i < block.samples; ++i) {
    const std::uint64_t sample = block.first + i;
    if (!unreadable.empty() && unreadable.front().sample == sample) {
      if (format_ == PredictionFormat::json)
        text += json_line(UnreadInput{dataset_.sample_name(sample), unreadable.front().reason});
      unreadable = unreadable.subspan(1);
    } else {
      text += lines(dataset_.sample_name(sample), block.values.subspan(i * outputs_, outputs_));
    }
  }
  return text;
}

std::string text_of(const std::vector<UnreadInput>& inputs, PredictionFormat format) {
  std::string text;
  if (format == PredictionFormat::json) {
    for (const UnreadInput& input : inputs) text += json_line(input);
  }
  return text;
}

std::unique_ptr<PredictionPrinter> print_classes(const Dataset& dataset, std::vector<std::string> classes,
                                                 std::size_t top, PredictionFormat format) {
  return std::make_unique<RankedPrinter>(dataset, "class", std::move(classes), softmax, top, format);
}

std::unique_ptr<PredictionPrinter> print_labels(const Dataset& dataset, std::vector<std::string> labels,
                                                std::optional<std::size_t> top, PredictionFormat format) {
  const auto write_probabilities = [](std::span<const float> logits, std::span<double> probabilities) {
    std::ranges::transform(logits, probabilities.begin(), label_probability);
  };
  return std::make_unique<RankedPrinter>(dataset, "label", std::move(labels), write_probabilities, top,
                                         format);
}

std::unique_ptr<PredictionPrinter> print_numbers(const Dataset& dataset, std::string name,
                                                 const TargetScale& scale, PredictionFormat format) {
  return std::make_unique<NumberPrinter>(dataset, std::move(name), scale, format);
}

}  // namespace lockstep
