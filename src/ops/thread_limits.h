#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/json/members.h"

/// Limits on the speed of an operation: the arithmetic of a thread, or the memory that holds the data (the
/// roofline model, Williams et al., 2009).
namespace lockstep {

/// A cache, or main memory.
struct MemoryLimit {
  std::string name;
  std::size_t bytes = 0;  ///< size of the cache; 0 for main memory
  double bytes_per_s = 0.0;
};
LOCKSTEP_MEMBERS(MemoryLimit, name, bytes, bytes_per_s)

/// Measured limits of one thread.
struct ThreadLimits {
  double flop_per_s = 0.0;
  std::optional<double> bf16_flop_per_s = {};  ///< speed of AMX; none: floats compute products of bf16
  std::vector<MemoryLimit> memory = {};        ///< smallest cache first, main memory last
};
LOCKSTEP_MEMBERS(ThreadLimits, flop_per_s, bf16_flop_per_s, memory)

/// Work of an operation in one direction.
struct Work {
  double flop = 0.0;             ///< floating-point operations
  double bytes = 0.0;            ///< minimum number of bytes moved
  bool multiplies_bf16 = false;  ///< whether the factors of products are bf16
};

/// The limit that is reached first.
struct NearestLimit {
  std::string name;      ///< "fma", "bf16", or the name of a MemoryLimit
  double seconds = 0.0;  ///< minimum time of the work
};

/// The nearest limit of `work`, assuming that its data come from the smallest cache that holds all of them.
NearestLimit nearest_limit(const ThreadLimits& limits, const Work& work);

}  // namespace lockstep
