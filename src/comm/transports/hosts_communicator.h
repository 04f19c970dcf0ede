#pragma once

#include <memory>

#include "comm/host_ranks.h"
#include "comm/world/mpi_handles.h"
#include "watch/watch.h"

namespace lockstep {

/// Communicator of ranks on several hosts: shared memory within hosts, messages between them. Null on all
/// ranks if the ranks of any host cannot share memory. `world`: all ranks, with the ranks of a host
/// contiguous; `host`: the ranks of this host. Collective.
std::unique_ptr<Communicator> make_hosts_communicator(const MpiGroup& world, const MpiGroup& host,
                                                      const HostRanks& hosts, Watch& watch);

std::unique_ptr<Communicator> make_message_communicator(const MpiGroup& world, Watch& watch);
/// Null on all ranks of `host`, which must be on one host, if one of them cannot map shared memory.
std::unique_ptr<Communicator> make_shared_memory_communicator(const MpiGroup& host, Watch& watch);

}  // namespace lockstep
