#pragma once

#include <memory>
#include <string>

#include "comm/communicator.h"

namespace lockstep {

/// Version of the NCCL library, "2.28.9". Throws Error(resource) saying what is missing where there is none.
std::string nccl_version();

/// A communicator between GPUs: arenas and all other memory of its plans are this device's. What they give to
/// a stream becomes part of the recording; it must be gone before the communicator. Chunks have at most 128
/// MB of partial sums of the peers. Sums that are started run on the device's stream for communication,
/// beside what other streams are given; whatever else is exchanged waits for them.
///
/// `host` connects the same ranks, is asked whether they are alive, and does what is done on return; `gpu`:
/// PCI address of the device, which no other rank computes on. All references outlive the communicator.
/// Collective. Throws on all ranks Error(resource), of which one prints the reason, where NCCL is missing on
/// a rank. A rank that NCCL fails on throws alone, Error(resource) or Error(peer): the others wait until
/// `host` finds it gone.
std::unique_ptr<Communicator> make_nccl_communicator(Communicator& host, const std::string& gpu,
                                                     Device& device);

}  // namespace lockstep
