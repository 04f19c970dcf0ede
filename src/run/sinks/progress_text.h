#pragma once

#include <string>

#include "lockstep/dataset.h"
#include "lockstep/reports.h"

/// Parts of the lines that show a run's progress.
namespace lockstep {

/// Samples that a run trains on.
enum class SampleKind { image, row };
inline Names choices_of(SampleKind) { return {"image", "row"}; }

/// Samples of a data set with this encoding.
inline SampleKind kind_of(Encoding encoding) {
  return encoding == Encoding::floats ? SampleKind::row : SampleKind::image;
}

/// Unit of a speed: "img/s", and for tables "rows/s".
inline const char* speed_unit(SampleKind kind) { return kind == SampleKind::row ? "rows/s" : "img/s"; }

/// "epoch 3/10  step 517/2350"; "step 517" if the number of steps is unknown.
std::string position_text(const StepReport& step);

/// "  1:23 left"; "" if the number of steps, or the time, is unknown.
std::string time_left_text(const StepReport& step, double seconds_left);

/// A loss or metric: with four decimals, or five significant digits if these do not suit its size.
std::string metric_text(double value);

/// Number of steps after `step`; 0: none, or unknown.
inline double steps_left(const StepReport& step) {
  return step.steps > step.step ? static_cast<double>(step.steps - step.step) : 0.0;
}

}  // namespace lockstep
