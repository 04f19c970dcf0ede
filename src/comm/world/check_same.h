#pragma once

#include <vector>

#include "core/options/check.h"
#include "lockstep/world.h"

namespace lockstep {

/// Throws Error(usage) on all ranks if the lines of a rank differ from those of rank 0, with the name of the
/// line as its field: "rank 1 has lr = 0.05, rank 0 has 0.1". Versions of lockstep are compared too.
/// Collective; comes before every collective that depends on these lines.
void check_same(const World& world, const std::vector<Line>& lines);

}  // namespace lockstep
