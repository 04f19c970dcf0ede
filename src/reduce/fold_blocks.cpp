#include "reduce/fold_blocks.h"

#include <utility>

namespace lockstep {

FoldBlocks::FoldBlocks(Fold fold)
    : fold_(std::move(fold)), storage_(fold_.depth * block), stack_(fold_.depth) {}

const float* FoldBlocks::sum_block(std::span<const float* const> inputs, std::size_t offset,
                                   std::size_t length) {
  std::size_t height = 0;
  for (const std::int32_t entry : fold_.program) {
    if (entry != Fold::add) {
      stack_[height++] = inputs[static_cast<std::size_t>(entry)] + offset;
      continue;
    }
    const float* a = stack_[height - 2];
    const float* b = stack_[height - 1];
    float* sum = storage_.data() + (height - 2) * block;  // may be a itself: element by element
    for (std::size_t i = 0; i < length; ++i) {
      sum[i] = a[i] + b[i];
    }
    stack_[--height - 1] = sum;
  }
  return stack_[0];
}

}  // namespace lockstep
