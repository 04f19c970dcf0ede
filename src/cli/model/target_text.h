#pragma once

#include <string>

#include "lockstep/task.h"

namespace lockstep {

/// The number that a network returns as `output`, or a data set has as a target, in its own unit.
inline double in_unit(float output, const TargetScale& scale) {
  return scale.mean + scale.deviation * static_cast<double>(output);
}

/// The number from which a data set has made `target`, a float, which is off by up to 6e-8 of its value. To
/// remove this, the number is rounded to a power of ten of at most 2e-6 of the deviation or, if that is
/// larger, of the number's distance from the mean.
double table_number(float target, const TargetScale& scale);

/// Text of a number of this scale, with as many digits as show a ten thousandth of the deviation; with an
/// exponent if these were more than 15 after the point.
std::string target_text(double number, const TargetScale& scale);

}  // namespace lockstep
