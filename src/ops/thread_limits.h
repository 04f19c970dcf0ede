#pragma once

#include <cstddef>
#include <optional>
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
  std::optional<double> bf16_flop_per_s = {};  ///< of AMX; none: floats compute products of bf16
  std::vector<MemoryLimit> memory = {};        ///< the smallest cache first, the memory last
};
LOCKSTEP_MEMBERS(ThreadLimits, flop_per_s, bf16_flop_per_s, memory)

/// Work of an operation in one direction.
struct Work {
  double flop = 0.0;             ///< floating-point operations
  double bytes = 0.0;            ///< that it must move at least
  bool multiplies_bf16 = false;  ///< whether its products are of bf16
};

/// The limit that is reached first.
struct NearestLimit {
  std::string name;      ///< "fma", "bf16", or that of a memory
  double seconds = 0.0;  ///< at least
};

/// The nearest limit of work whose data come from the smallest cache that holds all bytes that it moves.
NearestLimit nearest_limit(const ThreadLimits& limits, const Work& work);

}  // namespace lockstep
