#include "gradient/block_fold.h"

#include <algorithm>

#include "gradient/summation.h"

namespace lockstep {
namespace {

/// The pragmas allow vector instructions: `sum` either does not overlap with the inputs or is exactly one of
/// them.
void add(const float* left, const float* right, float* sum, std::size_t count) {
#if defined(__clang__)
#pragma clang loop vectorize(assume_safety)
#else
#pragma GCC ivdep
#endif
  for (std::size_t i = 0; i < count; ++i) sum[i] = left[i] + right[i];
}

}  // namespace

void BlockFold::reserve(const Fold& program) {
  if (stack_.size() < program.depth) stack_.resize(program.depth);
  sums_.grow(program.depth * block);
}

const float* BlockFold::sum(const Fold& program, std::span<const float* const> inputs, std::size_t begin,
                            std::size_t count) {
  return run(program, inputs, begin, count, sums_.data());
}

void BlockFold::sum_into(const Fold& program, std::span<const float* const> inputs, std::size_t begin,
                         std::size_t count, float* into) {
  const float* result = run(program, inputs, begin, count, into);
  if (result != into) std::copy_n(result, count, into);
}

/// Only the last addition writes to `last`, which may be an input that earlier additions must not overwrite.
const float* BlockFold::run(const Fold& program, std::span<const float* const> inputs, std::size_t begin,
                            std::size_t count, float* last) {
  const std::vector<std::int32_t>& entries = program.program;
  std::size_t height = 0;
  for (std::size_t at = 0; at < entries.size(); ++at) {
    if (entries[at] != Fold::add) {
      stack_[height++] = inputs[static_cast<std::size_t>(entries[at])] + begin;
      continue;
    }
    --height;
    float* into = at + 1 == entries.size() ? last : sums_.data() + (height - 1) * block;
    add(stack_[height - 1], stack_[height], into, count);
    stack_[height - 1] = into;
  }
  return stack_[0];
}

namespace {

class CpuSummation final : public Summation {
 public:
  void add(Stream& stream, float* into, const float* from, std::size_t count) const override {
    stream.call([into, from, count] { lockstep::add(into, from, into, count); }, Phase::fold);
  }
  void fill(Stream& stream, float* values, float value, std::size_t count) const override {
    stream.call([values, value, count] { std::fill_n(values, count, value); }, Phase::fold);
  }
  void fold(Stream& stream, const Fold& program, const SumChunk& chunk, float* into) override {
    blocks_.reserve(program);
    stream.call(
        [this, &program, chunk, into] {
          for (std::size_t at = 0; at < chunk.size(); at += BlockFold::block) {
            const std::size_t count = std::min(BlockFold::block, chunk.size() - at);
            blocks_.sum_into(program, chunk.inputs, at, count, into + at);
          }
        },
        Phase::reduce);
  }
  Buffer allocate(std::size_t count) const override {
    const auto floats = std::make_shared<AlignedFloats>(count);
    return {floats->data(), count * sizeof(float), [floats](void*) {}};
  }

 private:
  BlockFold blocks_;
};

}  // namespace

std::unique_ptr<Summation> make_cpu_summation() { return std::make_unique<CpuSummation>(); }

}  // namespace lockstep
