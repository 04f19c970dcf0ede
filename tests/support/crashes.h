#pragma once

#include <cstdint>
#include <functional>

#include "support/simulated_files.h"

namespace lockstep {

/// Runs `work` on `disk`. Before each call of a file system that it makes, and at its end, the machine
/// crashes `choices` times (SimulatedFiles::crash), and `check` runs on what the crash left. Returns the
/// number of checks.
std::uint64_t crash_everywhere(SimulatedFiles& disk, std::uint64_t choices, const std::function<void()>& work,
                               const std::function<void()>& check);

}  // namespace lockstep
