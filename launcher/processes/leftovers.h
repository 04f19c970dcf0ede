#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <string_view>

namespace lockstep::launcher {

/// Folders of this host in which jobs and their Open MPI keep files.
struct Places {
  /// With the session folders of Open MPI, ompi.HOST.UID/pid.PROCESS, and where there is no shared memory,
  /// files of lockstep.
  std::filesystem::path temporary;
  std::filesystem::path shared_memory;  ///< with segments of Open MPI and files of lockstep
};

/// These places, by the environment.
Places places_of_jobs();

/// Removes what a job has left, whose processes are gone: the session folder of its mpirun, which
/// had the number `process`, and the segments of this session; empty parents of session folders; files of
/// lockstep with the job's name. Ignores errors.
void remove_leftovers(const std::string& job, pid_t process, const Places& places);

/// Whether a file in shared memory is a segment of the Open MPI job family `family`, the upper half of its
/// jobs' numbers: vader_segment.HOST.UID.JOB.RANK or osc_sm.HOST.JOB.WINDOW.
bool is_segment_of(std::string_view file, unsigned family);

}  // namespace lockstep::launcher
