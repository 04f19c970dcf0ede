#pragma once

#include <vector>

#include "core/options/check.h"
#include "lockstep/world.h"

namespace lockstep {

/// Throws Error(usage) on all ranks where one has another line than rank 0, with the line's name as its
/// field: "rank 1 has lr = 0.05, rank 0 has 0.1". So is a rank refused that runs another version of lockstep.
/// Collective. Whatever these lines decide about collectives has to come after it.
void check_same(const World& world, const std::vector<Line>& lines);

}  // namespace lockstep
