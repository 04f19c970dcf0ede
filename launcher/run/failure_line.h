#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "run/attempt.h"

namespace lockstep::launcher {

/// Failure that a line on stderr reports.
struct FailureLine {
  Place place;
  std::string cause;
};

/// Reads an error of lockstep, which begins with "lockstep: error: rank 1 on HOST" or names a host of which
/// nothing was heard, and lines in which mpirun names a rank that a signal ended, or mpirun or ssh a host
/// that does not answer. A rank that only reports the end of another one is not the place of the failure.
std::optional<FailureLine> read_failure_line(std::string_view line);

/// Whether `later` tells why the rank ended of which `first` could only tell that it did.
bool explains(const FailureLine& later, const FailureLine& first);

/// Kind of a failure: its text without what differs between two of a kind: text in brackets, which ranks
/// wait and for how long, and the number of a collective.
std::string kind_of(const std::string& cause);

}  // namespace lockstep::launcher
