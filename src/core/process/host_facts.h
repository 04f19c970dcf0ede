#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/json/members.h"
#include "core/process/interfaces.h"

/// Facts that a host reports to lockstep-run, which asks all hosts before it starts ranks there:
/// `lockstep --preflight REQUEST [COMMAND...]` prints lines that begin with one of the words below and end
/// with a JSON object.
namespace lockstep {

inline constexpr const char* preflight_flag = "--preflight";
inline constexpr const char* host_facts_word = "lockstep-host ";
inline constexpr const char* data_facts_word = "lockstep-data ";

/// Request to a host, as a JSON object.
struct HostRequest {
  std::string directory;  ///< working directory of the ranks
  std::string mpirun;     ///< path of mpirun; its daemon is in the same folder
  bool data = false;      ///< whether to open the data set of COMMAND
};
LOCKSTEP_MEMBERS(HostRequest, directory, mpirun, data)

/// Facts about a host. 0 and empty strings: unknown.
struct HostFacts {
  std::string version;
  std::string revision;
  std::string mpi;                ///< the library's own version string
  std::string name;               ///< host name
  std::string identity;           ///< equal if two names refer to the same host
  std::string directory_error{};  ///< why ranks cannot start in the working directory; empty if they can
  bool has_mpirun = false;        ///< whether Open MPI's daemon is at the expected path
  std::uint64_t memory_free = 0;
  std::uint64_t shared_free = 0;  ///< in /dev/shm
  std::uint64_t disk_free = 0;    ///< in the file system of the working directory
  std::uint64_t clock = 0;        ///< milliseconds since 1970
  int processors = 0;             ///< processors that a process may use
  int nodes = 0;                  ///< NUMA nodes of these processors
  int gpus = 0;                   ///< GPUs that the program can use
  std::vector<Interface> interfaces;
};
LOCKSTEP_MEMBERS(HostFacts, version, revision, mpi, name, identity, directory_error, has_mpirun, memory_free,
                 shared_free, disk_free, clock, processors, nodes, gpus, interfaces)

/// Result of opening the data set of a command.
struct DataFacts {
  std::string name{};
  std::string fingerprint{};  ///< equal if the data are equal
  std::string error{};        ///< error in opening the data set or in the command's options; empty: none
  int status = 0;             ///< exit status for `error`
};
LOCKSTEP_MEMBERS(DataFacts, name, fingerprint, error, status)

}  // namespace lockstep
