#pragma once

#include <memory>

#include "comm/communicator.h"

namespace lockstep {

/// Communicator for arenas in device memory: data travels through host memory and `host`. It serves GPUs that
/// NCCL cannot connect: several ranks on one GPU, or ranks with and without a GPU.
///
/// An exchange of partial sums has one chunk, the whole own slice, with inputs in device memory. There are no
/// shared arenas. Peers may use `host` directly, as long as they make the same calls. Plans share host
/// memory, as much as the largest plan needs: for an exchange of partial sums, one arena for each of this
/// rank's, and the own slice of each of the peers'. If memory is short, a plan throws Error(resource) when it
/// is recorded, not when it is made, which is collective. Both arguments outlive the communicator.
std::unique_ptr<Communicator> make_staged_communicator(Communicator& host, Device& device);

}  // namespace lockstep
