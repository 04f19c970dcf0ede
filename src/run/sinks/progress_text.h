#pragma once

#include <string>

#include "lockstep/reports.h"

/// Parts of the lines that show a run's progress.
namespace lockstep {

/// "epoch 3/10  step 517/2350"; "step 517" if the number of steps is unknown.
std::string position_text(const StepReport& step);

/// "  1:23 left"; "" if the number of steps, or the time, is unknown.
std::string time_left_text(const StepReport& step, double seconds_left);

/// Number of steps after `step`; 0: none, or unknown.
inline double steps_left(const StepReport& step) {
  return step.steps > step.step ? static_cast<double>(step.steps - step.step) : 0.0;
}

/// Seconds of a steady clock.
double steady_seconds();

}  // namespace lockstep
