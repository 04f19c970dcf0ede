#pragma once

namespace lockstep {

/// Positions [begin, end) of the input in one window, and how many an average counts them as.
struct PoolRange {
  int begin;
  int end;
  int count;
};

}  // namespace lockstep
