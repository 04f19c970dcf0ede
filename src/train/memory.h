#pragma once

#include <cstddef>

namespace lockstep {

/// Throws Error(resource) when `bytes` more memory than this host has available is wanted for `purpose`.
void check_memory(std::size_t bytes, const char* purpose);

}  // namespace lockstep
