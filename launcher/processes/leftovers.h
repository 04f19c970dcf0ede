#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <string_view>

namespace lockstep::launcher {

/// Where a job and its Open MPI keep files on this host.
struct Places {
  std::filesystem::path folder;         ///< of the job alone
  std::filesystem::path temporary;      ///< with the session folders of Open MPI: ompi.HOST.UID/pid.PROCESS
  std::filesystem::path shared_memory;  ///< with segments of Open MPI and files of lockstep
};

/// Places of a job of this name, by the environment.
Places places_of(const std::string& job);

/// Removes what a job has left, whose processes are gone: its folder; the session folder of its mpirun, which
/// had the number `process`, and the segments of this session; empty parents of session folders; files of
/// lockstep with the job's name. Ignores errors.
void remove_leftovers(const std::string& job, pid_t process, const Places& places);

/// Whether a file in shared memory is a segment of the Open MPI job family `family`, the upper half of its
/// jobs' numbers: vader_segment.HOST.UID.JOB.RANK or osc_sm.HOST.JOB.WINDOW.
bool is_segment_of(std::string_view file, unsigned family);

}  // namespace lockstep::launcher
