#pragma once

#include <cstdlib>
#include <functional>
#include <string>

namespace lockstep {

/// Facts about the start of this process, according to the environment; read before MPI starts.
struct Launch {
  int processes = 1;       ///< number of processes that were started together; 1 if unknown
  int rank = 0;            ///< rank of this process; 0 if unknown
  int local_rank = -1;     ///< index of this process on its host; -1 if unknown
  int local_count = 0;     ///< number of processes on this host; 0 if unknown
  bool known = false;      ///< a launcher (mpirun, srun, ...) started this process
  bool managed = true;     ///< Open MPI can connect the processes: by PMIx, or as OMPI_MCA_pmix says
  bool one_host = true;    ///< all processes are on this host; true without a launcher
  std::string starter{};   ///< command that starts this many processes, "mpirun -np 4"; empty if unknown
  std::string variable{};  ///< variable that `processes` was read from, such as PMI_SIZE; empty: none
};

/// Reads the environment through `lookup`, which returns a variable's value or null, as getenv does. A
/// process of a Slurm job that srun did not start has no launcher, whatever the job's number of tasks.
Launch read_launch(const std::function<const char*(const char*)>& lookup = ::getenv);

/// Sets variables that let Open MPI start in 0.03 s instead of 0.3 s: no daemon for a lone process, and no
/// search for network hardware if all processes are on one host. A lone process also gets no folders for
/// temporary files: with them, processes that start at the same time fail (4.1.4). Keeps hwloc from printing
/// a line per topology if /sys is missing, as in some containers. Does not change variables that the user
/// set. Hides from a lone process that it is in a Slurm step without a process manager, where Open MPI would
/// refuse to start.
void set_start_options(const Launch& launch);

}  // namespace lockstep
