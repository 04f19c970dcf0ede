#pragma once

#include <memory>
#include <string>

#include "comm/communicator.h"

namespace lockstep {

/// Version of the NCCL library, "2.28.9". Throws Error(resource) naming what is missing.
std::string nccl_version();

/// Communicator between GPUs. Arenas and all other memory of its plans are on `device`. Recordings contain
/// operations of its plans, and must be destroyed before the communicator. A chunk has at most 128 MB of the
/// peers' partial sums. Sums that are started early run on the device's communication stream, concurrently
/// with work on other streams; all other exchanges wait for them.
///
/// `host` connects the same ranks, and makes the immediate exchanges. `gpu`: PCI address of the device, which
/// no other rank may use. `local_ranks`: number of ranks on this host, for error messages. All references
/// must outlive the communicator. Collective. If NCCL is missing on a rank, throws Error(resource) on all
/// ranks, one of which prints the reason. If NCCL fails on a rank, only that rank throws, Error(resource) or
/// Error(peer); the others wait until their watchdog finds that it has ended.
std::unique_ptr<Communicator> make_nccl_communicator(Communicator& host, const std::string& gpu,
                                                     Device& device, int local_ranks = 1);

}  // namespace lockstep
