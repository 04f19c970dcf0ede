#pragma once

#include <cstdint>

namespace lockstep::test {

/// Calls of operator new in this program so far, on all threads.
std::uint64_t allocations();

}  // namespace lockstep::test
