#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "comm/world/launch.h"

/// Checks for facilities that Open MPI needs and containers may lack. To be called before MPI starts.
namespace lockstep {

/// Switches Open MPI's messages between the ranks of this host from shared memory to TCP if
///  - /dev/shm, with `shared_free` bytes (none: unknown), is too small for MPI's segments. MPI does not
///    reserve their memory, so the process would end with SIGBUS later;
///  - `process`, the PID of this process, is 1: each rank has a container of its own. MPI would mistake the
///    segments of other ranks, which have the same PID, for its own, and end with SIGSEGV.
/// Returns a warning if the user can do something about it, else an empty text. Does nothing if OMPI_MCA_btl
/// is set.
std::string avoid_shared_memory(const Launch& launch, std::optional<std::uint64_t> shared_free, int process);

/// Why the PMIx server that started this process cannot be reached, as happens in a container with a network
/// of its own. Empty if the server can be reached, or if that is unknown. `lookup` returns a variable's value
/// or null; `root` is the folder that contains proc.
std::string why_unreachable(const std::function<const char*(const char*)>& lookup,
                            const std::filesystem::path& root = "/");

}  // namespace lockstep
