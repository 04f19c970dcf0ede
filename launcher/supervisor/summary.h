#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "supervisor/attempt.h"

namespace lockstep::launcher {

/// Cost of the restarts.
struct Summary {
  std::uint64_t lost_steps = 0;  ///< steps that were made again, or would have to be made again
  double seconds = 0;            ///< from the first start to the last end, between attempts included
  double useful_seconds = 0;     ///< time in steps that count, and the start that every run needs
};

/// Of one attempt or more. Lost steps are not useful time, nor is the time from a failure to the first step
/// after it.
Summary summarise(std::span<const Attempt> attempts);

/// "rank 2 on host b was killed by signal 9 (Killed)", in one line.
std::string cause_of(const Attempt& attempt);

/// One line, without a line end: "2 restarts (rank 2 on host b was killed by signal 9, 2 times); ...".
std::string summary_line(std::span<const Attempt> attempts);

}  // namespace lockstep::launcher
