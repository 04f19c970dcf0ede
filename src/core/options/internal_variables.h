#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace lockstep {

/// Identifies the processes that lockstep-run starts at once: hexadecimal digits. Files in /dev/shm whose
/// names begin with "lockstep-" and contain it belong to them; lockstep-run removes those that are left.
inline constexpr const char* job_variable = "LOCKSTEP_JOB";
/// Set where rank 0 has to print `run_directory_line`, for lockstep-run to resume from. A file would not do:
/// rank 0 may be on another host.
inline constexpr const char* tell_run_directory_variable = "LOCKSTEP_TELL_RUN_DIR";
/// Seconds since the first start of a run that lockstep-run starts again; not set in the first one.
inline constexpr const char* seconds_before_variable = "LOCKSTEP_SECONDS_BEFORE";
/// Begin of a line on stderr; the absolute path of the run directory follows.
inline constexpr std::string_view run_directory_line = "lockstep: run directory ";

/// Environment variables by which lockstep-run and the ranks agree. All others that begin with LOCKSTEP_ are
/// options.
inline constexpr std::array<std::string_view, 3> internal_variables = {
    job_variable, tell_run_directory_variable, seconds_before_variable};

constexpr bool is_internal_variable(std::string_view name) {
  return std::ranges::find(internal_variables, name) != internal_variables.end();
}

}  // namespace lockstep
