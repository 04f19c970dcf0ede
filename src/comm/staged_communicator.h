#pragma once

#include <memory>

#include "comm/communicator.h"

namespace lockstep {

/// A communicator for arenas in a device's memory: data travels through memory of the host and `host`. For
/// GPUs that NCCL cannot connect: several ranks on one, or ranks with and without.
///
/// Arenas and all other memory that its methods are given are the device's and outlive what is recorded. Its
/// methods but `shared_arenas`, `common_arena` and `check` are called inside of work enqueued on `stream`,
/// and take part in each run of what is recorded. An exchange calls `use` once, for the whole own slice, with
/// inputs in the device's memory; what `use` gives to the stream makes the results. There are no shared
/// arenas.
///
/// The peers may be ranks that use `host` itself, as long as they make the same calls. The first call with
/// the same arguments takes memory of the host: an arena for each partial sum of this rank, at least one, and
/// what the peers' partial sums have of the own slice. All three arguments outlive the communicator.
std::unique_ptr<Communicator> make_staged_communicator(Communicator& host, Device& device, Stream& stream);

}  // namespace lockstep
