#pragma once

namespace lockstep {

/// Positions [begin, end) of the input in one window, and the number that an average divides by.
struct PoolRange {
  int begin;
  int end;
  int count;
};

/// In a larger window, each row is added up first, then the sums of the rows: a running sum of more floats
/// would lose digits, as each is rounded to the last digit of the sum.
constexpr int pixels_in_one_sum = 1024;

}  // namespace lockstep
