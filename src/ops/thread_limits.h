#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/json/members.h"

/// Limits to the speed of an operation: the arithmetic of a thread, or the memory that its data come from
/// (the roofline model, Williams et al., 2009).
namespace lockstep {

/// A cache, or the memory.
struct MemoryLimit {
  std::string name;
  std::size_t bytes = 0;  ///< of the cache; memory: 0
  double bytes_per_s = 0.0;
};
LOCKSTEP_MEMBERS(MemoryLimit, name, bytes, bytes_per_s)

/// Limits of one thread, measured.
struct ThreadLimits {
  double flop_per_s = 0.0;
  std::vector<MemoryLimit> memory = {};  ///< the smallest cache first, the memory last
};
LOCKSTEP_MEMBERS(ThreadLimits, flop_per_s, memory)

/// The limit that is reached first.
struct NearestLimit {
  std::string name;      ///< "fma", or that of a memory
  double seconds = 0.0;  ///< at least
};

/// The nearest limit of work that moves `bytes` in all, and whose data therefore come from the smallest cache
/// that holds as many.
NearestLimit nearest_limit(const ThreadLimits& limits, double flop, double bytes);

}  // namespace lockstep
