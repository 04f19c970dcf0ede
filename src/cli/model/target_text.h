#pragma once

#include <string>

#include "lockstep/task.h"

namespace lockstep {

/// The number that a network returns as `output`, or a data set has as a target, in its own unit.
inline double in_unit(float output, const TargetScale& scale) {
  return scale.mean + scale.deviation * static_cast<double>(output);
}

/// Text of a number of this scale, with as many digits as show a ten thousandth of the deviation, at most 15
/// after the point.
std::string target_text(double number, const TargetScale& scale);

}  // namespace lockstep
