#pragma once

#include <cstddef>

namespace lockstep {

/// Throws Error(resource) when each of a host's `ranks` ranks wants `bytes` for `purpose` and the host has
/// not that much memory available.
void check_memory(std::size_t bytes, int ranks, const char* purpose);

}  // namespace lockstep
