#pragma once

#include <memory>
#include <string>

#include "comm/communicator.h"

namespace lockstep {

/// Where a rank's GPU is.
struct GpuPlace {
  std::string host;
  std::string bus;  ///< its PCI address on that host; empty: the rank has none
};

/// Version of the NCCL library, "2.28.9". Throws Error(resource) saying what is missing where there is none.
std::string nccl_version();

/// A communicator between GPUs: arenas and all other memory that its methods are given are this device's.
/// What its methods give to `stream` becomes part of a recording in progress, so they are called inside of
/// enqueued work; what is recorded must be gone before the communicator. An exchange calls `use` with chunks
/// of at most 128 MB of partial sums, inputs in the device's memory; what `use` gives to the stream makes the
/// results. Sums that are begun run on the device's stream for communication, beside what `stream` is given.
///
/// `host` connects the same ranks, and is asked whether they are alive; `place`: of the device, no other
/// rank's. All references outlive the communicator. Collective. Throws on all ranks Error(resource), of which
/// one prints the reason, where NCCL is missing on a rank. A rank that NCCL fails on
/// throws alone, Error(resource) or Error(peer): the others wait until `host` finds it gone.
std::unique_ptr<Communicator> make_nccl_communicator(Communicator& host, const GpuPlace& place,
                                                     Device& device, Stream& stream);

}  // namespace lockstep
