#include <fmt/format.h>

#include <utility>

#include "cli/model/target_text.h"
#include "cli/predict/prediction_printer.h"
#include "core/json/members.h"
#include "core/printable.h"
#include "run/report/csv.h"

namespace lockstep {
namespace {

/// Prediction of a sample as a JSON line.
struct PredictedNumber {
  std::string input;
  double prediction = 0.0;
};
LOCKSTEP_MEMBERS(PredictedNumber, input, prediction)

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
    return json_line(PredictedNumber{.input = input, .prediction = number});
  }

  std::string name_;
  TargetScale scale_;
};

}  // namespace

std::unique_ptr<PredictionPrinter> print_numbers(const Dataset& dataset, std::string name,
                                                 const TargetScale& scale, PredictionFormat format) {
  return std::make_unique<NumberPrinter>(dataset, std::move(name), scale, format);
}

}  // namespace lockstep
