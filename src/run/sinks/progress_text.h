#pragma once

#include <string>

#include "lockstep/dataset.h"
#include "lockstep/reports.h"

/// Parts of the lines that show a run's progress.
namespace lockstep {

/// Kind of samples that a run trains on.
enum class SampleKind { image, row };
inline Names choices_of(SampleKind) { return {"image", "row"}; }

/// Kind of the samples of a data set with this encoding.
inline SampleKind kind_of(Encoding encoding) {
  return encoding == Encoding::floats ? SampleKind::row : SampleKind::image;
}

/// Unit of a speed: "img/s", or "rows/s" for tables.
inline const char* speed_unit(SampleKind kind) { return kind == SampleKind::row ? "rows/s" : "img/s"; }

/// "epoch 3/10  step 517/2350"; "step 517" if the number of steps is unknown.
std::string position_text(const StepReport& step);

/// "  1:23 left"; "" if the number of steps, or the time, is unknown.
std::string time_left_text(const StepReport& step, double seconds_left);

/// Text of a loss or metric: four decimals, or five significant digits if the value is too small or too large
/// for that.
std::string metric_text(double value);

/// Number of steps after `step`; 0: none, or unknown.
inline double steps_left(const StepReport& step) {
  return step.steps > step.step ? static_cast<double>(step.steps - step.step) : 0.0;
}

}  // namespace lockstep
