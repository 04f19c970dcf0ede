#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/world/launch.h"
#include "comm/world/mpi_handles.h"
#include "lockstep/world.h"
#include "watch/job_memory.h"
#include "watch/watch.h"

namespace lockstep {

/// The ranks of `all`, renumbered so that those of one host are contiguous: hosts in the order of their
/// lowest rank in `all`, ranks of a host in their old order.
struct RanksByHost {
  MpiGroup world;
  std::vector<int> boundaries;  ///< first rank of every host, then the number of ranks
};
/// Collective over `all`. `host`: this rank's host, its ranks ordered as in `all`.
RanksByHost number_by_host(MPI_Comm all, const MpiGroup& host);

/// MPI handles and numbers of this process. Members are destroyed in reverse order, the session last.
struct World::Runtime {
  Runtime(int* argc, char*** argv);
  /// Runtime of this rank alone, within another runtime's session.
  explicit Runtime(std::string host_name);
  ~Runtime();

  Launch launch;
  std::string host_name;
  std::optional<SegmentFolder> segments;  ///< removed after the session
  std::unique_ptr<Watch> watch;           ///< watches the end of the session, too
  std::optional<MpiSession> session;      ///< none: another runtime's
  MpiGroup host;
  RanksByHost ranks;
  int rank = 0;
  int size = 1;
  int local_rank = 0;
};

}  // namespace lockstep
