#pragma once

#include <string>
#include <vector>

#include "ops/cpu/kernels/table.h"

namespace lockstep::cpu {

/// Best level that this machine supports. Throws Error(resource) if there is none.
Level best_level();
/// Level with this name; best_level() for "auto". Throws Error(usage) if this build or this machine does not
/// support the level.
Level level_by_name(const std::string& name);
/// Name of a level; "unknown" if this build does not have it.
const char* level_name(Level level);
/// Levels that this build and this machine support, best last.
std::vector<Level> available_levels();

}  // namespace lockstep::cpu
