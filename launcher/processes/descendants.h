#pragma once

#include <sys/types.h>

#include <vector>

namespace lockstep::launcher {

/// Makes this process the parent of its orphaned descendants, so that none of them escapes.
void adopt_descendants();

/// Children of another process, including zombies. Cheap, unlike children_of, but empty on systems that do
/// not show them.
std::vector<pid_t> shown_children_of(pid_t parent);

/// Wait statuses of another process's zombie children, as waitpid gives them. Empty for a stopped process,
/// and if the system does not show them.
std::vector<int> neglected_children_of(pid_t parent);

/// Kills the descendants of this process, except its children `others` and their descendants, and waits until
/// they are gone. This process must have called adopt_descendants().
void end_descendants(const std::vector<pid_t>& others);

}  // namespace lockstep::launcher
