#pragma once

#include <string>
#include <vector>

#include "ops/cpu/kernels/table.h"

namespace lockstep::cpu {

/// Best level of this machine. Throws Error(resource) if it has none.
Level best_level();
/// Level of that name, or the best one for "auto". Throws Error(usage) for names that this build or this
/// machine lacks.
Level level_by_name(const std::string& name);
/// "unknown": this build does not have the level.
const char* level_name(Level level);
/// Levels that this machine supports, the best last.
std::vector<Level> available_levels();

}  // namespace lockstep::cpu
