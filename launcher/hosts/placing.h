#pragma once

#include <string>
#include <vector>

#include "supervisor/mpirun_options.h"

namespace lockstep::launcher {

/// Gives hosts whose number of slots is open as many as they need for `ranks` ranks, evenly; if that number
/// is open too (0), as many as `defaults` has for each host. Throws Error(usage) if the hosts have fewer
/// slots than there are ranks.
void fill_slots(std::vector<MpirunOptions::Host>& hosts, int ranks, const std::vector<int>& defaults);

/// Number of ranks that mpirun starts on each host: it fills one after the other.
std::vector<int> ranks_of_hosts(const std::vector<MpirunOptions::Host>& hosts, int ranks);

}  // namespace lockstep::launcher
