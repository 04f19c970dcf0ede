#pragma once

#include <memory>

#include "comm/communicator.h"

namespace lockstep {

/// Communicator for arenas in device memory that copies data to host memory and exchanges it through `host`.
/// For GPUs that NCCL cannot connect: several ranks on one GPU, or ranks with and without a GPU.
///
/// An exchange of partial sums has one chunk, the whole slice of this rank, with inputs in device memory.
/// There are no shared arenas. Peers may use `host` directly, as long as they make the same calls. All plans
/// share host memory of the size that the largest needs: an exchange of partial sums needs one arena for each
/// partial sum of this rank, and a copy of this rank's slice of each partial sum of the peers. If memory is
/// short, a plan throws Error(resource) when it is recorded, not when it is made, because making it is
/// collective. Both arguments must outlive the communicator.
std::unique_ptr<Communicator> make_staged_communicator(Communicator& host, Device& device);

}  // namespace lockstep
