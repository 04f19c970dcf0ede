#include "cli/predict/prediction_printer.h"

#include "cli/predict/json_line.h"
#include "core/json/members.h"

namespace lockstep {
namespace {

/// A sample that could not be read, as a JSON line.
struct UnreadSample {
  std::string input;
  std::string error;
};
LOCKSTEP_MEMBERS(UnreadSample, input, error)

}  // namespace

std::string PredictionPrinter::text(const OutputBlock& block) {
  std::string text;
  std::span<const UnreadableSample> unreadable = block.unreadable;
  for (std::uint64_t i = 0; i < block.samples; ++i) {
    const std::uint64_t sample = block.first + i;
    if (!unreadable.empty() && unreadable.front().sample == sample) {
      text += unreadable_line(unreadable.front());
      unreadable = unreadable.subspan(1);
    } else {
      text += lines(dataset_.sample_name(sample), block.values.subspan(i * outputs_, outputs_));
    }
  }
  return text;
}

std::string PredictionPrinter::unreadable_line(const UnreadableSample& sample) const {
  if (format_ != PredictionFormat::json) return "";
  return json_line(UnreadSample{.input = dataset_.sample_name(sample.sample), .error = sample.reason});
}

}  // namespace lockstep
