#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace lockstep {

/// Identifies the processes that lockstep-run starts at once: hexadecimal digits. Files in /dev/shm whose
/// names begin with "lockstep-" and contain it belong to them; lockstep-run removes those that are left.
inline constexpr const char* job_variable = "LOCKSTEP_JOB";
/// File to which rank 0 writes the absolute path of its run directory, for lockstep-run to resume from.
inline constexpr const char* run_directory_file_variable = "LOCKSTEP_RUN_DIR_FILE";

/// Environment variables by which lockstep-run and the ranks agree. All others that begin with LOCKSTEP_ are
/// options.
inline constexpr std::array<std::string_view, 2> internal_variables = {job_variable,
                                                                       run_directory_file_variable};

constexpr bool is_internal_variable(std::string_view name) {
  return std::ranges::find(internal_variables, name) != internal_variables.end();
}

}  // namespace lockstep
