#pragma once

#include <cstdlib>
#include <filesystem>

namespace lockstep {

/// Folder for temporary files, from the same environment variables that Open MPI reads. lockstep-run searches
/// it for files that ranks left behind.
inline std::filesystem::path temporary_folder() {
  for (const char* variable : {"TMPDIR", "TEMP", "TMP"}) {
    const char* value = std::getenv(variable);
    if (value != nullptr && *value != '\0') return value;
  }
  return "/tmp";
}

}  // namespace lockstep
