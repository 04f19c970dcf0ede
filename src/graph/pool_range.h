#pragma once

namespace lockstep {

/// Input positions [begin, end) in one window, and the divisor of an average.
struct PoolRange {
  int begin;
  int end;
  int count;
};

/// Maximum number of pixels that an average adds to one running sum. A larger window is divided into bands of
/// as many whole rows as fit, or of parts of a row. Each band is summed first, then the sums of the bands are
/// added: a running sum of more floats would lose precision, because each addition is rounded to the last
/// digit of the sum.
constexpr int pixels_in_one_sum = 1024;

}  // namespace lockstep
