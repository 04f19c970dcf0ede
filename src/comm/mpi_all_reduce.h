#pragma once

#include <memory>
#include <span>

#include "comm/exchange.h"
#include "comm/world/mpi_handles.h"

namespace lockstep {

/// The library's sum of memory of the host, done when it is started. `group` outlives it.
std::unique_ptr<AllReduce> plan_mpi_all_reduce(std::span<float> values, const MpiGroup& group);

}  // namespace lockstep
