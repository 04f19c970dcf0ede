#pragma once

#include <memory>

#include "comm/host_ranks.h"
#include "comm/world/mpi_handles.h"
#include "watch/watch.h"

namespace lockstep {

/// Communicator of ranks on several hosts: shared memory within hosts, messages between them. Null if the
/// ranks of a host cannot share memory (agreed by all ranks). `world`: all ranks, those of a host contiguous;
/// `host`: those of this host. Collective.
std::unique_ptr<Communicator> make_hosts_communicator(const MpiGroup& world, const MpiGroup& host,
                                                      const HostRanks& hosts, Watch& watch);

std::unique_ptr<Communicator> make_message_communicator(const MpiGroup& world, Watch& watch);
/// Null if shared memory cannot be mapped (agreed by the ranks of `host`, which are all on one host).
std::unique_ptr<Communicator> make_shared_memory_communicator(const MpiGroup& host, Watch& watch);

}  // namespace lockstep
