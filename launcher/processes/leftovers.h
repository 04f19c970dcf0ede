#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>

namespace lockstep::launcher {

/// Folders of this host in which jobs and their mpirun keep files.
struct Places {
  std::filesystem::path temporary;
  std::filesystem::path shared_memory;
};

/// These places, by the environment.
Places places_of_jobs();

/// Folder for the session of a job's mpirun, which creates it. Each job has its own, since mpirun of Open MPI
/// 4 removes the common parent of a user's sessions where another mpirun of the user has just begun.
std::filesystem::path session_folder(const std::string& job, const Places& places);

/// Removes the files and folders of a job whose processes have ended: their names contain the job's or, for
/// Open MPI 5 and PMIx 5, the number of its mpirun, `process`. Ignores errors.
void remove_leftovers(const std::string& job, pid_t process, const Places& places);

}  // namespace lockstep::launcher
