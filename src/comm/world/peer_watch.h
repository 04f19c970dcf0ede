#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <span>
#include <vector>

#include "comm/world/mpi_handles.h"

namespace lockstep {

/// Watches the processes of the other ranks on this host, to notice when one has ended: a launcher may not
/// end the survivors (srun without -K1, a killed mpirun). Ranks in another process namespace are not watched.
class PeerWatch {
 public:
  /// Collective over `host`, the ranks of this host; `first` is the world's number of its first rank.
  PeerWatch(const MpiGroup& host, int first);

  /// Throws Error(peer) that names a rank which ended at least 3 s ago: a launcher that ends the survivors
  /// itself, within 2 s, comes first and reports the cause. Looks at most every 100 ms.
  void check();

 private:
  struct Peer {
    int rank;
    pid_t process;
  };
  using Time = std::chrono::steady_clock::time_point;
  void found(const Peer& ended, Time now);

  std::vector<Peer> peers_;
  Time next_;
  std::optional<Time> first_found_;
};

/// Completes `requests`. Yields the core and checks the peers meanwhile.
void complete(std::span<MPI_Request> requests, PeerWatch& watch);
void complete(MPI_Request& request, PeerWatch& watch);

}  // namespace lockstep
