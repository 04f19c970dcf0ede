#include "cli/predict/prediction_printer.h"

namespace lockstep {

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

}  // namespace lockstep
