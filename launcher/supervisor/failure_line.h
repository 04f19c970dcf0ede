#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/launcher_report.h"

namespace lockstep::launcher {

/// Reads lines of other programs: those in which mpirun names a rank that a signal ended, and those in which
/// mpirun or ssh names a host that does not answer. Only whole lines count, which no message of a rank can
/// be. Failures of lockstep itself arrive as LauncherReport.
std::optional<LauncherReport::Failure> read_failure_line(std::string_view line);

}  // namespace lockstep::launcher
