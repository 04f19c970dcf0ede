#include "cli/predict/prediction_printer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "core/json/json.h"
#include "core/json/members.h"
#include "core/printable.h"

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
struct PredictedSample {
  std::string input;
  std::vector<PredictedClass> classes;
};
LOCKSTEP_MEMBERS(PredictedSample, input, classes)

/// A sample that could not be read, as a JSON line.
struct UnreadSample {
  std::string input;
  std::string error;
};
LOCKSTEP_MEMBERS(UnreadSample, input, error)

template <class Line>
std::string json_line(const Line& line) {
  return json_of(line).dump(-1, ' ', false, JsonValue::error_handler_t::replace) + "\n";
}

/// Cell of a CSV file (RFC 4180).
std::string cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + "\"";
}

}  // namespace

PredictionPrinter::PredictionPrinter(const Dataset& dataset, std::vector<std::string> classes,
                                     std::size_t top, PredictionFormat format)
    : dataset_(dataset),
      classes_(std::move(classes)),
      top_(std::min(top, classes_.size())),
      format_(format),
      probabilities_(classes_.size()),
      order_(classes_.size()) {}

std::string PredictionPrinter::head() const {
  return format_ == PredictionFormat::csv ? "input,class,probability\n" : "";
}

std::string PredictionPrinter::text(const OutputBlock& block) {
  std::string text;
  std::span<const UnreadableSample> unreadable = block.unreadable;
  for (std::uint64_t i = 0; i < block.samples; ++i) {
    if (!unreadable.empty() && unreadable.front().sample == block.first + i) {
      text += unreadable_line(unreadable.front());
      unreadable = unreadable.subspan(1);
    } else {
      text += line(block.first + i, block.values.subspan(i * classes_.size(), classes_.size()));
    }
  }
  return text;
}

std::string PredictionPrinter::line(std::uint64_t sample, std::span<const float> outputs) {
  softmax(outputs, probabilities_);
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  // By logits, as different ones may have the same probability; of equal ones, the first class. NaN comes
  // last.
  const auto logit = [&](std::size_t c) {
    return std::isnan(outputs[c]) ? -std::numeric_limits<float>::infinity() : outputs[c];
  };
  std::ranges::partial_sort(
      order_, order_.begin() + static_cast<std::ptrdiff_t>(top_),
      [&](std::size_t a, std::size_t b) { return logit(a) > logit(b) || (logit(a) == logit(b) && a < b); });
  const std::string input = dataset_.sample_name(sample);
  const auto top = std::span(order_).first(top_);
  std::string text;
  switch (format_) {
    case PredictionFormat::text:
      text = without_control_characters(input);
      for (const std::size_t c : top) {
        text += fmt::format("  {} {:.4f}", without_control_characters(classes_[c]), probabilities_[c]);
      }
      return text + "\n";
    case PredictionFormat::csv:
      for (const std::size_t c : top) {
        text += fmt::format("{},{},{:.6f}\n", cell(input), cell(classes_[c]), probabilities_[c]);
      }
      return text;
    case PredictionFormat::json:
      break;
  }
  PredictedSample predicted{.input = input, .classes = {}};
  for (const std::size_t c : top) predicted.classes.push_back({classes_[c], probabilities_[c]});
  return json_line(predicted);
}

std::string PredictionPrinter::unreadable_line(const UnreadableSample& sample) const {
  if (format_ != PredictionFormat::json) return "";
  return json_line(UnreadSample{.input = dataset_.sample_name(sample.sample), .error = sample.reason});
}

}  // namespace lockstep
