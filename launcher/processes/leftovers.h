#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>

namespace lockstep::launcher {

/// Folders of this host in which jobs and their mpirun processes keep files.
struct Places {
  std::filesystem::path temporary;
  std::filesystem::path shared_memory;
};

/// The places that the environment names.
Places places_of_jobs();

/// Folder for the session of a job's mpirun, which creates it. Each job has its own, because mpirun of Open
/// MPI 4 removes the common parent folder of a user's sessions even if another mpirun of the user has just
/// begun.
std::filesystem::path session_folder(const std::string& job, const Places& places);

/// Removes the files and folders of a job whose processes have ended. Their names contain `job` or, for Open
/// MPI 5 and PMIx 5, `process`, the PID of the job's mpirun. Ignores errors.
void remove_leftovers(const std::string& job, pid_t process, const Places& places);

}  // namespace lockstep::launcher
