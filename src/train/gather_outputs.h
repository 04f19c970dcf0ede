#pragma once

#include <cstddef>
#include <span>

#include "comm/background_gather.h"
#include "lockstep/world.h"

namespace lockstep {

/// Gathers numbers of all ranks in rank order in `all`, on rank 0; elsewhere it may be empty. `counts`: how
/// many each rank has, the same on all ranks. Collective.
void gather_outputs(const World& world, BackgroundGather& gather, std::span<const float> own,
                    std::span<const std::size_t> counts, std::span<float> all);

}  // namespace lockstep
