#pragma once

#include <chrono>

namespace lockstep {

/// Seconds since `start`, which moves to now.
inline double lap(std::chrono::steady_clock::time_point& start) {
  const auto now = std::chrono::steady_clock::now();
  const double seconds = std::chrono::duration<double>(now - start).count();
  start = now;
  return seconds;
}

}  // namespace lockstep
