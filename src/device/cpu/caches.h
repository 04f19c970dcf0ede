#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace lockstep {

struct Cache {
  std::string name;  ///< "L1", "L2" or "L3"
  std::size_t bytes;
};

/// Caches for data of the first core, the smallest first; none if the system does not say.
std::vector<Cache> data_caches();

}  // namespace lockstep
