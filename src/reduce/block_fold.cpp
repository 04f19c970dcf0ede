#include "reduce/block_fold.h"

#include <algorithm>

namespace lockstep {
namespace {

/// `sum` is apart from both inputs or exactly one of them, which the compiler cannot know.
void add(const float* left, const float* right, float* sum, std::size_t count) {
#if defined(__clang__)
#pragma clang loop vectorize(assume_safety)
#else
#pragma GCC ivdep
#endif
  for (std::size_t i = 0; i < count; ++i) sum[i] = left[i] + right[i];
}

}  // namespace

BlockFold::BlockFold(Fold fold)
    : program_(std::move(fold.program)), stack_(fold.depth), sums_(fold.depth * elements) {}

const float* BlockFold::sum(std::span<const float* const> inputs, std::size_t begin, std::size_t count) {
  return run(inputs, begin, count, sums_.data());
}

void BlockFold::sum_into(std::span<const float* const> inputs, std::size_t begin, std::size_t count,
                         float* into) {
  const float* result = run(inputs, begin, count, into);
  if (result != into) std::copy_n(result, count, into);
}

/// Only the last addition writes to `last`: it may be an input that an earlier one must not overwrite.
const float* BlockFold::run(std::span<const float* const> inputs, std::size_t begin, std::size_t count,
                            float* last) {
  std::size_t height = 0;
  for (std::size_t at = 0; at < program_.size(); ++at) {
    if (program_[at] != Fold::add) {
      stack_[height++] = inputs[static_cast<std::size_t>(program_[at])] + begin;
      continue;
    }
    --height;
    float* into = at + 1 == program_.size() ? last : sums_.data() + (height - 1) * elements;
    add(stack_[height - 1], stack_[height], into, count);
    stack_[height - 1] = into;
  }
  return stack_[0];
}

namespace {

class CpuSummation final : public Summation {
 public:
  void add(float* into, const float* from, std::size_t count) const override {
    lockstep::add(into, from, into, count);
  }
  void fill(float* values, float value, std::size_t count) const override {
    std::fill_n(values, count, value);
  }
  Buffer allocate(std::size_t count) const override {
    const auto floats = std::make_shared<AlignedFloats>(count);
    return {floats->data(), count * sizeof(float), [floats](void*) {}};
  }
  std::unique_ptr<Folder> make_folder(Fold fold, std::size_t /*elements*/) const override {
    return std::make_unique<BlockFold>(std::move(fold));
  }
};

}  // namespace

const Summation& cpu_summation() {
  static const CpuSummation summation;
  return summation;
}

}  // namespace lockstep
