#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "core/tree.h"

namespace lockstep {

/// Runs a fold over arrays, block by block: intermediate sums stay in the first-level cache. Allocates when
/// constructed only. Used by one thread at a time.
class FoldBlocks {
 public:
  static constexpr std::size_t block = 2048;  ///< elements: 8 KB for each value on the stack

  explicit FoldBlocks(Fold fold);

  /// Calls use(offset, sum) for consecutive blocks of the sum of inputs[0..][0, count).
  template <class Use>
  void run(std::span<const float* const> inputs, std::size_t count, const Use& use) {
    for (std::size_t offset = 0; offset < count; offset += block) {
      const std::size_t length = count - offset < block ? count - offset : block;
      use(offset, std::span<const float>(sum_block(inputs, offset, length), length));
    }
  }

 private:
  const float* sum_block(std::span<const float* const> inputs, std::size_t offset, std::size_t length);

  Fold fold_;
  std::vector<float> storage_;
  std::vector<const float*> stack_;
};

}  // namespace lockstep
