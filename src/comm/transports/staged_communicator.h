#pragma once

#include <memory>

#include "comm/communicator.h"

namespace lockstep {

/// A communicator for arenas in a device's memory: data travels through memory of the host and `host`. For
/// GPUs that NCCL cannot connect: several ranks on one, or ranks with and without.
///
/// An exchange of partial sums has one chunk, the whole own slice, with inputs in the device's memory. There
/// are no shared arenas. The peers may be ranks that use `host` itself, as long as they make the same calls.
/// Plans share memory of the host: as much as the largest needs, for an exchange of partial sums an arena for
/// each of this rank and what the peers' have of the own slice. Both arguments outlive the communicator.
std::unique_ptr<Communicator> make_staged_communicator(Communicator& host, Device& device);

}  // namespace lockstep
