#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace lockstep {

/// Hexadecimal digits that identify the processes which lockstep-run starts together. Their files in /dev/shm
/// have names that begin with "lockstep-" and contain these digits; lockstep-run removes leftover files.
inline constexpr const char* job_variable = "LOCKSTEP_JOB";
/// Version of the protocol and secret for reports to lockstep-run (core/process/launcher_report.h).
inline constexpr const char* launcher_variable = "LOCKSTEP_LAUNCHER";
/// Set by old versions of lockstep-run, which read the run directory from a human-readable message.
inline constexpr const char* old_launcher_variable = "LOCKSTEP_TELL_RUN_DIR";
/// Seconds since the first start of a run that lockstep-run restarts; not set on the first start.
inline constexpr const char* seconds_before_variable = "LOCKSTEP_SECONDS_BEFORE";
/// Beginning of the command line of lockstep-run, up to the command of lockstep: "lockstep-run -np 4".
inline constexpr const char* start_variable = "LOCKSTEP_START";
/// Environment variables that lockstep-run sets for the ranks. All others that begin with LOCKSTEP_ are
/// options.
inline constexpr std::array<std::string_view, 4> internal_variables = {
    job_variable, launcher_variable, seconds_before_variable, start_variable};

constexpr bool is_internal_variable(std::string_view name) {
  return std::ranges::find(internal_variables, name) != internal_variables.end();
}

}  // namespace lockstep
