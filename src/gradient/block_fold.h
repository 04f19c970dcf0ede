#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "comm/aligned_floats.h"
#include "core/tree.h"

namespace lockstep {

/// Runs fold programs on the CPU, one small block of elements at a time, so that intermediate sums stay in
/// the L1 cache. Inputs are never copied: an addition reads them where they are.
class BlockFold {
 public:
  static constexpr std::size_t block = 2048;  ///< elements; 512 to 2048 measured alike, 4096 slower

  /// Allocates the memory that `program` needs.
  void reserve(const Fold& program);

  /// Sum of elements [begin, begin + count) of the inputs, count <= block: a pointer to the sum, valid until
  /// the next call; of a single input, the input itself. `program`: one that was reserved.
  const float* sum(const Fold& program, std::span<const float* const> inputs, std::size_t begin,
                   std::size_t count);
  /// Same as `sum`, written to `into`, which may be those elements of one of the inputs.
  void sum_into(const Fold& program, std::span<const float* const> inputs, std::size_t begin,
                std::size_t count, float* into);

 private:
  const float* run(const Fold& program, std::span<const float* const> inputs, std::size_t begin,
                   std::size_t count, float* last);

  std::vector<const float*> stack_;
  AlignedFloats sums_;  ///< one block for every position of the stack
};

}  // namespace lockstep
