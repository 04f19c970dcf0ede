#pragma once

namespace lockstep {

/// Positions [begin, end) of the input in one window, and the number that an average divides by.
struct PoolRange {
  int begin;
  int end;
  int count;
};

/// Maximum number of pixels that an average adds up one after the other. A larger window is divided into
/// bands of as many whole rows as fit, or of parts of a row. Each band is added up first, then their sums: a
/// running sum of more floats would lose digits, as each is rounded to the last digit of the sum.
constexpr int pixels_in_one_sum = 1024;

}  // namespace lockstep
