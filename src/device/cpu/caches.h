#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace lockstep {

struct Cache {
  std::string name;  ///< "L1", "L2" or "L3"
  std::size_t bytes;
};

/// Data caches of the first core, smallest first; empty if hwloc cannot detect them.
std::vector<Cache> data_caches();

}  // namespace lockstep
