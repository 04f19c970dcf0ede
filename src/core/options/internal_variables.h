#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace lockstep {

/// Hexadecimal digits that identify the processes which lockstep-run starts together. Their files in /dev/shm
/// have names that begin with "lockstep-" and contain these digits; lockstep-run removes files that are left.
inline constexpr const char* job_variable = "LOCKSTEP_JOB";
/// Version of the protocol and secret for reports to lockstep-run (core/process/launcher_report.h).
inline constexpr const char* launcher_variable = "LOCKSTEP_LAUNCHER";
/// Set by versions of lockstep-run that read the run directory from a message for people.
inline constexpr const char* old_launcher_variable = "LOCKSTEP_TELL_RUN_DIR";
/// Seconds since the first start of a run that lockstep-run starts again; not set in the first one.
inline constexpr const char* seconds_before_variable = "LOCKSTEP_SECONDS_BEFORE";
/// Start of the command line of lockstep-run, up to the command of lockstep: "lockstep-run -np 4".
inline constexpr const char* start_variable = "LOCKSTEP_START";
/// Environment variables from lockstep-run to the ranks. All others that begin with LOCKSTEP_ are options.
inline constexpr std::array<std::string_view, 4> internal_variables = {
    job_variable, launcher_variable, seconds_before_variable, start_variable};

constexpr bool is_internal_variable(std::string_view name) {
  return std::ranges::find(internal_variables, name) != internal_variables.end();
}

}  // namespace lockstep
