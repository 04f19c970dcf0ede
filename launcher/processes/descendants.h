#pragma once

#include <sys/types.h>

#include <vector>

namespace lockstep::launcher {

/// Makes this process the parent of those among its descendants whose parents end, so that none of them
/// escapes.
void adopt_descendants();

/// Children of another process, also those that have ended and for which it has not waited. Cheap, unlike
/// children_of, but empty on systems that do not show them.
std::vector<pid_t> shown_children_of(pid_t parent);

/// Children of another process that have ended, but for which it has not waited, and their status as waitpid
/// gives it. Empty for a stopped process, and if the system does not show them.
std::vector<int> neglected_children_of(pid_t parent);

/// Kills all descendants of this process, which adopts them, and waits until they are gone; not those that
/// descend from its children `others`.
void end_descendants(const std::vector<pid_t>& others);

}  // namespace lockstep::launcher
