#pragma once

#include <cstddef>
#include <vector>

namespace lockstep {

/// A block of memory that is in use from step `first` to step `last`, both included.
struct Block {
  std::size_t bytes = 0;
  int first = 0;
  int last = 0;
};

struct MemoryPlan {
  std::vector<std::size_t> offsets;  ///< one per block, multiples of the alignment
  std::size_t bytes = 0;
};

/// Places blocks so that those in use at the same step never overlap: largest first, each at the lowest
/// offset that is free during its life.
MemoryPlan plan_memory(const std::vector<Block>& blocks, std::size_t alignment = 64);

}  // namespace lockstep
