#pragma once

#include <cstdint>

namespace lockstep {

/// Length of time. Users write it with units, larger ones first: "90s", "5m", "3h50m", "1d2h".
struct Duration {
  double seconds = 0.0;

  bool operator==(const Duration&) const = default;
};

/// Distance between events of a run: a number of steps, written "500", or a length of time, written "5m".
/// At most one of the two is set; if neither is, there are no such events.
struct Period {
  std::uint64_t steps = 0;
  Duration time = {};

  bool operator==(const Period&) const = default;
};

}  // namespace lockstep
