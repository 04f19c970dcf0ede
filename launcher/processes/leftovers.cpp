#include "processes/leftovers.h"

#include <unistd.h>

#include <system_error>

#include "core/files/temporary_folder.h"

namespace lockstep::launcher {

namespace fs = std::filesystem;

Places places_of_jobs() { return {.temporary = temporary_folder(), .shared_memory = "/dev/shm"}; }

fs::path session_folder(const std::string& job, const Places& places) {
  return places.temporary / ("lockstep-" + job + "-mpirun");
}

void remove_leftovers(const std::string& job, pid_t process, const Places& places) {
  // Open MPI 5 names its session prterun.HOST.PID.UID; PMIx 5, also with Open MPI 4, has files
  // pmix-gds-shmem.*.PID.
  const std::string pid_end = "." + std::to_string(process);
  const std::string session_end = pid_end + "." + std::to_string(geteuid());
  const auto is_left = [&](const std::string& file) {
    if (file.starts_with("lockstep-") && file.find(job) != std::string::npos) return true;
    if (file.starts_with("prterun.") && file.ends_with(session_end)) return true;
    return file.starts_with("pmix-gds-shmem") && file.ends_with(pid_end);
  };
  std::error_code error;
  for (const fs::path& place : {places.shared_memory, places.temporary}) {
    for (fs::directory_iterator entry(place, error), end; !error && entry != end; entry.increment(error)) {
      std::error_code ignored;
      if (is_left(entry->path().filename().string())) fs::remove_all(entry->path(), ignored);
    }
  }
}

}  // namespace lockstep::launcher
