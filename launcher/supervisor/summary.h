#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "supervisor/attempt.h"

namespace lockstep::launcher {

/// Cost of the restarts.
struct Summary {
  std::uint64_t lost_steps = 0;  ///< steps that were made again, or would have to be made again
  double seconds = 0;            ///< from the first start to the last end, including time between attempts
  double useful_seconds = 0;     ///< time in steps that were not lost, and in the start that every run needs
};

/// Summarises one or more attempts. Neither lost steps nor the time from a failure to the first step after it
/// are useful time.
Summary summarise(std::span<const Attempt> attempts);

/// Cause of a failure, in one line: "rank 2 on host b was killed by signal 9 (Killed)".
std::string cause_of(const Attempt& attempt);

/// Summary in one line, without a line end: "2 restarts (rank 2 on host b was killed by signal 9, 2 times);
/// ...".
std::string summary_line(std::span<const Attempt> attempts);

}  // namespace lockstep::launcher
