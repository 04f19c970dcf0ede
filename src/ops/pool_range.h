#pragma once

namespace lockstep {

/// Positions [begin, end) of the input in one window, and the number by which an average divides.
struct PoolRange {
  int begin;
  int end;
  int count;
};

}  // namespace lockstep
