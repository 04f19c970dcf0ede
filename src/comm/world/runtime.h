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

/// All ranks, renumbered so that the ranks of a host are contiguous: hosts in the order of their lowest old
/// rank, ranks of a host in their old order.
struct RanksByHost {
  MpiGroup world;
  std::vector<int> boundaries;  ///< first rank of every host, then the number of ranks
};
/// Renumbers the ranks of `all`. `host`: the ranks of this host, ordered as in `all`. Collective over `all`.
RanksByHost number_by_host(MPI_Comm all, const MpiGroup& host);

/// MPI handles and numbers of this process. Members are destroyed in reverse order, the session last.
struct World::Runtime {
  Runtime(int* argc, char*** argv);
  /// Makes a runtime of this rank alone, within another runtime's session.
  explicit Runtime(std::string host_name);
  ~Runtime();

  Launch launch;
  std::string host_name;
  std::optional<SegmentFolder> segments;  ///< removed after the session
  std::unique_ptr<Watch> watch;           ///< destroyed after the session, whose end it watches, too
  std::optional<MpiSession> session;      ///< none: uses another runtime's session
  MpiGroup host;
  RanksByHost ranks;
  int rank = 0;
  int size = 1;
  int local_rank = 0;
};

}  // namespace lockstep
