#pragma once

#include <vector>

#include "core/options/check.h"
#include "lockstep/world.h"

namespace lockstep {

/// Throws Error(usage) on all ranks if the lines of a rank differ from rank 0's: "rank 1 has lr = 0.05, rank
/// 0 has 0.1", with the name of the line as the error's field. Compares the versions of lockstep, too.
/// Collective; must precede every collective that depends on these lines.
void check_same(const World& world, const std::vector<Line>& lines);

}  // namespace lockstep
