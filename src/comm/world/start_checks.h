#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "comm/world/launch.h"

/// What Open MPI needs from its surroundings, which containers may lack. To be called before MPI starts.
namespace lockstep {

/// Switches Open MPI's messages between the ranks of this host from shared memory to TCP if
///  - /dev/shm, with `shared_free` bytes (none: unknown), is too small for its segments. MPI does not reserve
///    their memory: it would end with SIGBUS later;
///  - `process`, the number of this process, is 1: each rank has a container of its own. MPI would take the
///    segments of other ranks, which have the same number, for its own, and end with SIGSEGV.
/// Returns a warning if there is something to do about it. An OMPI_MCA_btl that is set is left alone.
std::string avoid_shared_memory(const Launch& launch, std::optional<std::uint64_t> shared_free, int process);

/// Why the PMIx server that started this process cannot be reached, as from a container with a network of its
/// own. Empty if it can be reached, or if that is unknown. `lookup` returns a variable's value or null,
/// `root` is the folder of proc.
std::string why_unreachable(const std::function<const char*(const char*)>& lookup,
                            const std::filesystem::path& root = "/");

}  // namespace lockstep
