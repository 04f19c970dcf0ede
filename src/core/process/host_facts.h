#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/json/members.h"
#include "core/process/interfaces.h"

/// Answers of a host to lockstep-run, which asks all hosts before it starts ranks there:
/// `lockstep --preflight REQUEST [COMMAND...]` prints lines that begin with these words and end with a JSON
/// object.
namespace lockstep {

inline constexpr const char* preflight_flag = "--preflight";
inline constexpr const char* host_facts_word = "lockstep-host ";
inline constexpr const char* data_facts_word = "lockstep-data ";

/// Request to a host, as a JSON object.
struct HostRequest {
  std::string directory;  ///< working directory of the ranks
  std::string mpirun;     ///< path of mpirun, whose daemon lies beside it
  bool data = false;      ///< whether to open the data set of COMMAND
};
LOCKSTEP_MEMBERS(HostRequest, directory, mpirun, data)

/// Facts about a host. 0 and empty texts: unknown.
struct HostFacts {
  std::string version;
  std::string revision;
  std::string mpi;                ///< the library's own version string
  std::string name;               ///< of the host
  std::string identity;           ///< equal for two names of the same host
  std::string directory_error{};  ///< reason why ranks cannot start in the working directory; empty: they can
  bool has_mpirun = false;        ///< whether Open MPI's daemon is where it is expected
  std::uint64_t memory_free = 0;
  std::uint64_t shared_free = 0;  ///< of /dev/shm
  std::uint64_t disk_free = 0;    ///< of the file system of the working directory
  std::uint64_t clock = 0;        ///< milliseconds since 1970
  int processors = 0;             ///< that a process may use
  int nodes = 0;                  ///< NUMA nodes of these processors
  int gpus = 0;                   ///< that the program can use
  std::vector<Interface> interfaces;
};
LOCKSTEP_MEMBERS(HostFacts, version, revision, mpi, name, identity, directory_error, has_mpirun, memory_free,
                 shared_free, disk_free, clock, processors, nodes, gpus, interfaces)

/// Result of opening the data set of a command.
struct DataFacts {
  std::string name{};
  std::string fingerprint{};  ///< equal if the data are equal
  std::string error{};  ///< reason why it cannot be opened, or the command's options are wrong; empty: none
  int status = 0;       ///< exit status of that error
};
LOCKSTEP_MEMBERS(DataFacts, name, fingerprint, error, status)

}  // namespace lockstep
