#pragma once

namespace lockstep {

/// Positions [begin, end) of the input in one window, and the number that an average divides by.
struct PoolRange {
  int begin;
  int end;
  int count;
};

}  // namespace lockstep
