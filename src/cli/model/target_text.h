#pragma once

#include <string>

#include "lockstep/task.h"

namespace lockstep {

/// Converts a network's output, or a data set's target, to the unit of the table.
inline double in_unit(float output, const TargetScale& scale) {
  return scale.mean + scale.deviation * static_cast<double>(output);
}

/// The table's number for `target` of a data set, a float that is off by up to 6e-8 of its value. To remove
/// this error, the number is rounded to the largest power of ten that is at most 2e-6 of the deviation or, if
/// that is larger, of the number's distance from the mean.
double table_number(float target, const TargetScale& scale);

/// Text of a number of this scale, with enough digits to show a ten-thousandth of the deviation; with an
/// exponent if that takes more than 15 decimals.
std::string target_text(double number, const TargetScale& scale);

}  // namespace lockstep
