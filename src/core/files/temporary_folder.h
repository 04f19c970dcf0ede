#pragma once

#include <cstdlib>
#include <filesystem>

namespace lockstep {

/// Folder for temporary files, by the environment as Open MPI reads it. lockstep-run, which links nothing of
/// lockstep, has to find there what ranks leave.
inline std::filesystem::path temporary_folder() {
  for (const char* variable : {"TMPDIR", "TEMP", "TMP"}) {
    const char* value = std::getenv(variable);
    if (value != nullptr && *value != '\0') return value;
  }
  return "/tmp";
}

}  // namespace lockstep
